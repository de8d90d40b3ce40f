"""Expected failures: which requirements a backend is known to break, and why."""

from .expectation import Expectation
from .manifest import Manifest, nearest, read, rows, shipped

__all__ = ["Expectation", "Manifest", "nearest", "read", "rows", "shipped"]
