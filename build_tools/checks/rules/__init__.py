"""The rules, one per module; :mod:`build_tools.checks.registry` lists them."""
