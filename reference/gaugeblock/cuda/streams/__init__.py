"""Streams and events, and each thread's current stream."""
