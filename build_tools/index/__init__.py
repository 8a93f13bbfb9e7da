"""The package index as a pure function of a snapshot: pages for installers, in every form that they read."""
