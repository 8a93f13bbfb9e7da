"""Data files (TOML) and the strict models that read them."""
