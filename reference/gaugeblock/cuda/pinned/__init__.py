"""Pinned host memory, and tensors in it."""
