"""ROCm as Python packages: where they come from, and what the ones in an environment are."""
