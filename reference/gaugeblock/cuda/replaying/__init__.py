"""Snapshots and traces of an allocator: read, replayed under other configurations, and drawn."""
