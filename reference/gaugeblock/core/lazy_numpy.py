"""NumPy, imported when one of its names is first used: it takes as long to import as the rest of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import *  # noqa: F403
else:

    def __getattr__(name):
        import numpy

        found = globals()[name] = getattr(numpy, name)
        return found
