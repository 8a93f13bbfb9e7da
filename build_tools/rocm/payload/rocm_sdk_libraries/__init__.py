"""Marks that ROCm's libraries are installed; ``rocm_sdk.find_libraries`` finds them."""
