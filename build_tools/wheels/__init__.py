"""Wheels as files: names, RECORD, metadata, what is inside, and packing one."""
