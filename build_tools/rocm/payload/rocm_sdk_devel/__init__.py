"""Marks that ROCm's development files are installed, packed in the archive beside this file; ``rocm-sdk init`` expands them."""
