"""Conformance tests of the caching allocator."""
