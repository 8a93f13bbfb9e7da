"""One model of all options, rendered to nox arguments, invoke tasks and environment names; it knows where each value came from."""
