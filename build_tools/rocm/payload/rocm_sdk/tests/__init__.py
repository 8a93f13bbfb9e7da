"""Tests of an installed SDK, run by ``rocm-sdk test``: what can be tested on this machine is, and what cannot is said."""
