"""ROCm Python packages, made of the artifacts of a ROCm build."""
