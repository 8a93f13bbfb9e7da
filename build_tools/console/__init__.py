"""One event stream for progress, tables and groups; one renderer for terminals, one for GitHub."""
