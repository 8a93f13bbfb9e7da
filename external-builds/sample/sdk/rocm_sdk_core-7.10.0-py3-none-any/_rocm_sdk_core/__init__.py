"""The ROCm core files: ``bin``, ``include``, ``lib/cmake`` and ``share`` lie beside this file."""
