"""Tensors: the record, the stride laws, views."""
