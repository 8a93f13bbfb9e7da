"""hipwright: turns a ROCm SDK into tested, published PyTorch wheels."""

from __future__ import annotations

__version__ = "0.1.0"
