"""Environments: which packages go in, exactly from where, and the one function that makes one."""
