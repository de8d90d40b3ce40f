"""Tests of the chapter on storage: bytes, sharing, lifetime, allocators and resizing."""
