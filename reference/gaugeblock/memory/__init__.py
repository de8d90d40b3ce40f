"""Bytes: allocators, storages, foreign memory."""
