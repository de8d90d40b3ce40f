"""Tensors from and to other libraries and files."""
