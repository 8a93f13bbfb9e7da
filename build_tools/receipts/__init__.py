"""The values that flow from stage to stage, and the receipts that record them: pure types, JSON with a schema number."""
