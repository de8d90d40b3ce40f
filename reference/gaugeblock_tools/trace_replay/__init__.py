"""Snapshots and traces of a caching allocator: read, and replayed under other configurations."""
