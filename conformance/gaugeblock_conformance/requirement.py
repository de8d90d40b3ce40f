"""``@requirement``: which test checks which requirement of the spec."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaugeblock_spec import requirements as spec

from .problem import unknown_requirement

if TYPE_CHECKING:
    from .session import Session

Test = Callable[["Session"], None]

AREA_PACKAGES = (
    "storage", "views", "dtypes", "iteration", "dispatch", "operators", "kernels", "autograd", "allocator",
    "layouts", "interop",
)  # fmt: skip


@dataclass(frozen=True)
class TestCase:
    """One registered test: its function takes a session and raises if a requirement does not hold."""

    __test__ = False

    name: str
    function: Test
    module: str
    line: int
    ids: tuple[str, ...]
    needs: tuple[str, ...]
    may_crash: bool = False
    slow: bool = False

    @property
    def effort(self) -> int:
        """0 for a test of literals, 1 for a drawn property, 2 for one that takes long (many operators, much memory)."""
        return 2 if self.slow else int(hasattr(self.function, "body"))


_registry: dict[str, list[TestCase]] = {}


def requirement(
    *ids: str, needs: tuple[str, ...] = (), may_crash: bool = False, slow: bool = False
) -> Callable[[Test], Test]:
    """Register a test for requirement ``ids``.

    ``needs`` names capabilities that this test wants on top of the requirements' own; ``may_crash`` says that a backend
    which breaks the requirement is likely to kill its process, so that the test should have one of its own; ``slow``
    that it takes much longer than a property.

    Raises:
        LookupError: an id or a capability that the spec does not have.
    """
    known = spec.load()
    for identifier in ids:
        if identifier not in known:
            raise LookupError(f"@requirement: {unknown_requirement(identifier, known, 'all: gaugeblock requirements')}")

    def register(function: Test) -> Test:
        body = getattr(function, "body", function)
        case = TestCase(
            name=function.__name__,
            function=function,
            module=function.__module__,
            line=body.__code__.co_firstlineno,
            ids=ids,
            needs=tuple(dict.fromkeys([c for i in ids for c in known[i].capabilities] + list(needs))),
            may_crash=may_crash,
            slow=slow,
        )
        for identifier in ids:
            _registry.setdefault(identifier, []).append(case)
        function.requirement_case = case  # type: ignore[attr-defined]
        return function

    return register


def load_tests() -> None:
    """Import every test module of the suite, so that :func:`tests` is complete."""
    for area in AREA_PACKAGES:
        package = importlib.import_module(f"{__package__}.{area}")
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.startswith("test_"):
                importlib.import_module(f"{package.__name__}.{module.name}")


def tests() -> dict[str, list[TestCase]]:
    """Requirement id -> its tests, as registered so far."""
    return _registry
