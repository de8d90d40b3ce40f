"""Expected failures: which requirements a backend is known to break, and why."""

from .expectation import Expectation
from .manifest import Manifest, read, rows, shipped

__all__ = ["Expectation", "Manifest", "read", "rows", "shipped"]
