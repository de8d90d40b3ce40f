"""Backends by name: ``NAME[:DEVICE]`` of group ``gaugeblock.backends``, ``package.module:Class[:DEVICE]``, or
``path/to/file.py:Class[:DEVICE]``.

Nothing here imports a backend except :func:`load`, which only worker processes (and pytest) call.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NoReturn, cast

from gaugeblock_spec import capabilities

from .backend import Backend, Unsupported
from .dialect import AdapterDialect
from .own_rules import checked
from .problem import BackendProblem, one_line, shown, unknown

GROUP = "gaugeblock.backends"
LONGEST_NAME = 200
"""Largest number of characters of a backend's name, version and device."""

FORMS = "package.module:Class, or path/to/file.py:Class"
MEMBERS = ("name", "version", "device", "capabilities", "from_numpy", "to_numpy", "call", "shape", "dtype")
# Members that a backend may leave out if it lists none of these capabilities.
OBSERVERS = {
    "strides": ("strided",),
    "storage_offset": ("strided",),
    "storage_id": ("strided", "storage"),
    "storage_nbytes": ("storage",),
    "data_ptr": ("storage",),
}
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
        if text.startswith(self.module) and self.module.endswith(".py"):
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
    """Find where ``text`` points: an installed name, the address of a class, or ``mylib`` for the file in this folder
    that ``gaugeblock new-backend mylib`` has written.

    Raises:
        UsageProblem: it is none of them.
    """
    known = installed()
    head, _, rest = text.partition(":")
    if head in known:
        return BackendName(text, known[head].module, known[head].attr, rest or None)
    file, class_name = adapter_names(head)
    if head.replace("-", "_").isidentifier() and Path(file).is_file():
        return BackendName(text, file, class_name, rest or None)
    if head.endswith(".py") and not rest and Path(head).is_file():
        found = _classes(Path(head))
        raise BackendProblem(f"backend {text!r}: name its class, as in {head}:{found[0] if found else 'Class'}")
    if not head or not rest:
        raise unknown("backend", text, known, f"or {FORMS}")
    attribute, _, device = rest.partition(":")
    looks_like_class = all(part.isidentifier() for part in attribute.split("."))
    if not looks_like_class or not (head.endswith(".py") or all(part.isidentifier() for part in head.split("."))):
        raise unknown("backend", text, known, f"or {FORMS}")
    if head.endswith(".py") and not Path(head).is_file():
        raise BackendProblem(f"backend {text!r}: no file {head}")
    return BackendName(text, head, attribute, device or None)


def adapter_names(backend: str) -> tuple[str, str]:
    """The file and the class that ``gaugeblock new-backend`` writes for a backend.

    >>> adapter_names("my-chip")
    ('my_chip_backend.py', 'MyChipBackend')
    """
    module = backend.replace("-", "_")
    return f"{module}_backend.py", "".join(part.capitalize() for part in module.split("_")) + "Backend"


def _classes(path: Path) -> list[str]:
    """The classes of a file, those named as backends first."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    found = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return sorted(found, key=lambda name: not name.endswith("Backend"))


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
    _fill_in_observers(name, backend)
    _check_rules(name, backend)
    own = getattr(backend, "dialect", None) is not None
    adapter_dialect = AdapterDialect(_setup(name), getattr(backend, "finish", None) is not None)
    if own:
        backend.dialect.adapter = adapter_dialect.setup
    if not own or _overridden(backend):
        backend.adapter_dialect = adapter_dialect
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


def _fill_in_observers(name: BackendName, backend: Any) -> None:
    """Give a backend the observers that it may leave out; each raises Unsupported."""
    for member, needing in OBSERVERS.items():
        if hasattr(backend, member):
            continue
        for capability in needing:
            if capability in backend.capabilities:
                wants = f"capability {capability!r} needs a method {member}"
                raise BackendProblem(f"backend {name.text!r}: {wants}; see gaugeblock_conformance.backend")
        setattr(backend, member, _not_observed(member))


def _check_rules(name: BackendName, backend: Any) -> None:
    try:
        checked(getattr(backend, "rules", ()))
    except ValueError as error:
        raise BackendProblem(f"backend {name.text!r}: {error}; see gaugeblock_conformance.own_rules") from None


def _not_observed(member: str) -> Callable[[Any], NoReturn]:
    def observe(tensor: Any) -> NoReturn:
        raise Unsupported(member, "the adapter does not show it")

    return observe


def _overridden(backend: Any) -> bool:
    """Return whether some members of the adapter are its author's own, and may do other than the module does."""
    shipped = f"{__package__}.backends."
    functions = (getattr(backend, member) for member in (*MEMBERS[4:], *OBSERVERS))
    return any(not getattr(function, "__module__", "").startswith(shipped) for function in functions)


def _setup(name: BackendName) -> str:
    """Return the source line that makes the backend."""
    arguments = "" if name.device is None else repr(name.device)
    if name.module.endswith(".py"):
        path = str(Path(name.module).resolve())
        return f"import runpy; backend = runpy.run_path({path!r})[{name.attribute!r}]({arguments})"
    head = name.attribute.split(".")[0]
    return f"from {name.module} import {head}; backend = {name.attribute}({arguments})"


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
