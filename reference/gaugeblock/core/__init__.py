"""Vocabulary of the engine: dtypes, devices, layouts, sizes, promotion, argument checks."""
