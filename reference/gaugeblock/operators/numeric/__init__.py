"""Statistics, numerical rules, windows and more of the NumPy-like surface; `..numerics` says where each operator is."""
