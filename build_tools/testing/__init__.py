"""Tests of installed wheels: the environment under test, the child that runs pytest, the report, the verdict."""
