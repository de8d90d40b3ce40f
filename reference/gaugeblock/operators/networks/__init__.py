"""Operators of neural networks, by family; `operators.network` says which module has which and loads it."""
