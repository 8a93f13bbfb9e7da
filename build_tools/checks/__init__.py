"""Judge wheels without running them: rules, a profile per project, and a report."""
