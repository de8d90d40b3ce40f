"""Deliberately broken backends: what the suite must catch, every one of them."""
