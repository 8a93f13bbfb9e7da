"""The console scripts of ROCm's compiler, runtime and tools."""
