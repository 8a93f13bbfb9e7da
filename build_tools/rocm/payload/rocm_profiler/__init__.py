"""The console scripts of ROCm's profilers."""
