"""The artifacts of a ROCm build: their names, how a run's are chosen, fetched and unpacked, and the tree that they make."""
