"""Resolving a lock, and keeping it in the work dir."""
