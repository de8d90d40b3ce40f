"""Backends by name: ``NAME[:DEVICE]`` of group ``gaugeblock.backends``, or ``package.module:Class[:DEVICE]``.

Nothing here imports a backend except :func:`load`, which only worker processes (and pytest) call.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from gaugeblock_spec import capabilities

from .backend import Backend
from .dialect import AdapterDialect
from .problem import BackendProblem, one_line, shown, unknown

GROUP = "gaugeblock.backends"
LONGEST_NAME = 200
"""Largest number of characters of a backend's name, version and device."""

MEMBERS = (
    "name", "version", "device", "capabilities", "from_numpy", "to_numpy", "call",
    "shape", "strides", "storage_offset", "dtype", "storage_id", "storage_nbytes", "data_ptr",
)  # fmt: skip
# What a capability adds to the members.
CAPABILITY_MEMBERS = {
    "version": "version_of",
    "refcount": "watch_storage",
    "blob": "from_blob",
    "alloc.pluggable": "observed_allocator",
    "iter.introspect": "iteration_plan",
    "autograd.vjp": "vjp",
    "autograd.jvp": "jvp",
}


@dataclass(frozen=True)
class BackendName:
    """A backend as named on the command line, resolved to where its class is, not yet imported."""

    text: str
    module: str
    attribute: str
    device: str | None

    @property
    def slug(self) -> str:
        """The name as a file name: of ``file.py:Class`` the file's stem, and the class where that says more."""
        text = self.text
        if self.module.endswith(".py"):
            stem = Path(self.module).stem
            own = [self.attribute] if _plain(self.attribute) != _plain(stem) else []
            text = "-".join([stem, *own, *([self.device] if self.device else [])])
        return "".join(c if c.isalnum() or c in "._-" else "-" for c in text).strip("-.")


def _plain(name: str) -> str:
    return name.replace("_", "").lower().removesuffix("backend")


def installed() -> dict[str, EntryPoint]:
    """Entry points of every installed backend, by name."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def resolve(text: str) -> BackendName:
    """Find where ``text`` points. Raises UsageProblem for a name that is neither installed nor a class's address."""
    known = installed()
    head, _, rest = text.partition(":")
    if head in known:
        return BackendName(text, known[head].module, known[head].attr, rest or None)
    if not head or not rest:
        raise unknown("backend", text, known, "or package.module:Class, or path/to/file.py:Class")
    attribute, _, device = rest.partition(":")
    looks_like_class = all(part.isidentifier() for part in attribute.split("."))
    if not looks_like_class or not (head.endswith(".py") or all(part.isidentifier() for part in head.split("."))):
        raise unknown("backend", text, known, "or package.module:Class, or path/to/file.py:Class")
    if head.endswith(".py") and not Path(head).is_file():
        raise BackendProblem(f"backend {text!r}: no file {head}")
    return BackendName(text, head, attribute, device or None)


def load(name: BackendName) -> Backend:
    """Import the backend and make it. Raises BackendProblem naming what went wrong."""
    try:
        found: Any = _module(name.module)
        for part in name.attribute.split("."):
            found = getattr(found, part)
        make = cast("Callable[..., Any]", found)
        backend = make(name.device) if name.device is not None else make()
    except (Exception, SystemExit) as error:
        raise BackendProblem(f"backend {name.text!r} cannot be loaded: {one_line(error)}") from error
    missing = [member for member in MEMBERS if not hasattr(backend, member)]
    if missing:
        raise BackendProblem(
            f"backend {name.text!r}: {name.attribute} lacks {', '.join(missing)}; see gaugeblock_conformance.backend"
        )
    _check_names(name, backend)
    _check_capabilities(name, backend)
    own = getattr(backend, "dialect", None) is not None
    if own:
        backend.dialect.adapter = _adapter_dialect(name).setup
    if not own or _overridden(backend):
        backend.adapter_dialect = _adapter_dialect(name)
    if not own:
        backend.dialect = backend.adapter_dialect
    return cast("Backend", backend)


def _check_names(name: BackendName, backend: Any) -> None:
    for field in ("name", "version", "device"):
        text = str(getattr(backend, field))
        if not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
            allowed = f"a string of 1 to {LONGEST_NAME} printable characters"
            raise BackendProblem(f"backend {name.text!r}: {field} must be {allowed}, not {shown(text, 60)}")


def _check_capabilities(name: BackendName, backend: Any) -> None:
    claimed, known = backend.capabilities, capabilities.load()
    if isinstance(claimed, str) or not all(isinstance(capability, str) for capability in claimed):
        raise BackendProblem(f"backend {name.text!r}: capabilities must be a frozenset of names, not {shown(claimed)}")
    for capability in sorted(claimed):
        if capability not in known:
            raise BackendProblem(f"backend {name.text!r}: {unknown('capability', capability, known)}")
        member = CAPABILITY_MEMBERS.get(capability)
        if member is not None and not hasattr(backend, member):
            wants = f"capability {capability!r} needs a method {member}"
            raise BackendProblem(f"backend {name.text!r}: {wants}; see gaugeblock_conformance.backend")


def _overridden(backend: Any) -> bool:
    """Whether some members of the adapter are its author's own, and may do other than the module does."""
    shipped = f"{__package__}.backends."
    functions = (getattr(backend, member) for member in MEMBERS[4:])
    return any(not getattr(function, "__module__", "").startswith(shipped) for function in functions)


def _adapter_dialect(name: BackendName) -> AdapterDialect:
    """The dialect in which snippets go through the adapter."""
    arguments = "" if name.device is None else repr(name.device)
    if name.module.endswith(".py"):
        path = str(Path(name.module).resolve())
        return AdapterDialect(f"import runpy; backend = runpy.run_path({path!r})[{name.attribute!r}]({arguments})")
    head = name.attribute.split(".")[0]
    return AdapterDialect(f"from {name.module} import {head}; backend = {name.attribute}({arguments})")


def _module(address: str) -> Any:
    if not address.endswith(".py"):
        return importlib.import_module(address)
    path = Path(address).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{address} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
