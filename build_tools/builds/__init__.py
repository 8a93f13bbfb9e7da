"""Wheel builds: the version, the child's environment, a project's hooks, and the build front end."""
