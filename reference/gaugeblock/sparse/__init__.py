"""Sparse layouts, loaded when a sparse tensor is first made."""

from . import registration as registration
