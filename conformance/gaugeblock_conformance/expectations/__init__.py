"""Expected failures: which requirements a backend is known to break, and why."""

from .manifest import Expectation, Manifest, read, shipped

__all__ = ["Expectation", "Manifest", "read", "shipped"]
