"""Hipify: the tree's own translation of CUDA sources to HIP, run on pristine files and kept as commits."""
