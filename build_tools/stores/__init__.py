"""Stores: where objects live, behind one interface, and the layout of a run's outputs in one."""
