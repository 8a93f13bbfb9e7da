"""Patch series: their data, the line of a ref, and how they are applied."""
