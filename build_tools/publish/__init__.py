"""Publishing: files and their index into a store, and promotion of what was tested into a channel."""
