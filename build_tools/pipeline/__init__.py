"""The stages in order: what each needs, when it is skipped, what it leaves behind."""
