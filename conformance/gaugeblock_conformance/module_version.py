"""The version of a module that a backend is made over."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

UNKNOWN = "unknown"


def module_version(module: Any) -> str:
    """Return the version of a module's top package: what it states, else that of its distribution."""
    name = str(module.__name__)
    package = name.partition(".")[0]
    top = module if name == package else sys.modules.get(package)
    stated = getattr(top, "__version__", None)
    return str(stated or _distribution_version(package) or getattr(module, "__version__", UNKNOWN))


def _distribution_version(package: str) -> str | None:
    """The version of the distribution that installed a package; of several, of the one that bears its name."""
    names = sorted(set(packages_distributions().get(package, [])), key=lambda name: (_plain(name) != package, name))
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()
