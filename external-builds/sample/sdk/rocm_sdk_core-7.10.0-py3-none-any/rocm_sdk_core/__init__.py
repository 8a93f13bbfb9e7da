"""The programs of the ROCm core package as console scripts."""
