"""Our own rules for workflow files: what no linter of others can know."""
