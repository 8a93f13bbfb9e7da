"""The real inputs that hipwright is tried on: fetched, verified by their bytes, and kept in the cache."""
