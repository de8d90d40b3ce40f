"""Checks of the adapter itself, before anything is said of the backend behind it.

The suite sees a backend only through its adapter: values that do not come back as they went in, strides in bytes or an
exception that is swallowed would be told as hundreds of broken requirements. :func:`check_adapter` runs the tables
below first. If values cannot be carried at all, or ``call`` hides what happened, the run ends there. What fails alone,
a capability or a dtype, is withdrawn by name, and what needs it is skipped.

Values must come back bit for bit, with one exception: a signalling NaN of float16 or bfloat16 may come back quiet, as
it does from every conversion through float32; sign and payload are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import values
from ..backend import Array, Backend, DType, MissingCapability, Unsupported, dtype_name, numpy_dtype
from ..building import maker_of_views
from ..case import TensorCase, default_strides
from ..comparison import differing_bits
from ..exact import ExactBackend, WrongAnswer, exact
from ..failure import ConformanceError
from ..problem import BackendProblem, one_line, shown, visible

DTYPES: Mapping[str, tuple[str, ...]] = {
    "core": ("float32", "bool", "uint8", "int8", "int16", "int32", "int64", "float64"),
    "half": ("float16", "bfloat16"),
    "complex": ("complex64", "complex128"),
    "dtype.limited": ("uint16", "uint32", "uint64"),
}
"""Capability -> the dtypes whose values it says can be carried."""
LONGEST_REASON = 300
"""Number of characters that are told of why something is withdrawn."""
PROBE = "probe of "
"""What the name of a check begins with that tries a capability."""
NEEDED = "float32"
"""Without this dtype there is nothing to judge by."""
UNKNOWN = ("no_operator_has_this_name", "no_operator_has_this_name.Tensor")
WRONGLY_CALLED = ("neg", "clone", "add.Tensor", "sum")
"""Operators of which the first that is offered is called without operands."""
# NaNs of both half formats: one quiet with a payload, one signalling, both signs.
_HALF_NANS = {"float16": (0x7E01, 0xFE01, 0x7D01, 0xFD01), "bfloat16": (0x7FC1, 0xFFC1, 0x7F81, 0xFF81)}
_ALL_DTYPES = frozenset(name for names in DTYPES.values() for name in names)
# So many elements that all values of a table occur.
_SIZES = {"2-d": (2, 20), "0-dim": (), "empty": (2, 0)}


class AdapterFault(Exception):
    """Raised by a check: what was ``given``, what came of it, and the ``members`` of the adapter to look at."""

    def __init__(self, given: str, came: str, members: str) -> None:
        super().__init__(f"of {given} {came}; look at {members}")


class Narrowed(ExactBackend):
    """A backend without the capabilities and dtypes of ``withdrawn`` (name -> why)."""

    def __init__(self, backend: Backend, withdrawn: Mapping[str, str]) -> None:
        super().__init__(backend)
        self.withdrawn = withdrawn
        self.capabilities -= withdrawn.keys()
        self._dtypes = {name for item in withdrawn for name in DTYPES.get(item, (item,))}

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        self._refuse(dtype_name(array.dtype))
        return super().from_numpy(array, requires_grad)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if type(value) is DType:
                self._refuse(str(value))
        return super().call(operator, *args, **kwargs)

    def _refuse(self, dtype: str) -> None:
        if dtype in self._dtypes:
            raise Unsupported(dtype, "withdrawn, since the adapter does not carry it")


@dataclass(frozen=True)
class Check:
    """One row: ``run`` is made where a capability of ``of`` is listed; if it fails, all of ``of`` are withdrawn."""

    name: str
    of: tuple[str, ...]
    run: Callable[[Backend], None]


def check_adapter(
    backend: Backend, at: Callable[[str], object] = lambda name: None, fatal: Mapping[str, str] | None = None
) -> Backend:
    """Return ``backend``, without what its adapter cannot carry. ``at`` is told of each check before it is made.

    ``fatal`` says of capabilities how their probes ended an earlier process; those are not made again.

    Raises:
        BackendProblem: the adapter carries no values, or ``call`` does not tell what happens.
    """
    if "core" not in backend.capabilities:
        return backend
    asked = exact(backend)
    for name, call_check in CALLS.items():
        at(name)
        fault = _fault(call_check, asked)
        if fault is not None:
            raise _stopped(backend, f"{name}: {fault}")
    withdrawn = dict(_faults_of_probes(backend, at, fatal or {}))
    withdrawn |= _dtypes_withdrawn(Narrowed(backend, withdrawn), asked, at)
    for row in LAYOUTS:
        narrowed = Narrowed(backend, withdrawn)
        listed = [name for name in row.of if name in narrowed.capabilities]
        if listed:
            at(row.name)
            fault = _fault(row.run, narrowed)
            if fault is not None:
                withdrawn.update(dict.fromkeys(listed, f"{row.name}: {fault}"))
    told = {name: visible(why, LONGEST_REASON) for name, why in withdrawn.items()}
    return Narrowed(backend, told) if told else backend


def _faults_of_probes(
    backend: Backend, at: Callable[[str], object], fatal: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield each capability that the adapter lists and whose probe fails, with why."""
    probes: Mapping[str, Callable[[], object]] = getattr(backend, "probes", {})
    for capability in sorted(probes.keys() & backend.capabilities):
        fault = fatal.get(capability)
        if fault is None:
            at(f"{PROBE}{capability}")
            fault = _fault(probes[capability])
        if fault is not None:
            yield capability, f"tried on {backend.device}: {fault}"


def _dtypes_withdrawn(backend: Backend, asked: Backend, at: Callable[[str], object]) -> dict[str, str]:
    """Capability or dtype of core -> why. Raises BackendProblem if there is too little left to judge by."""
    withdrawn: dict[str, str] = {}
    for capability, dtypes in DTYPES.items():
        if capability not in backend.capabilities:
            continue
        faults = dict(_faults_of_dtypes(asked, dtypes, at))
        for dtype, fault in faults.items():
            withdrawn.setdefault(dtype if capability == "core" else capability, fault)
        if capability == "core" and (NEEDED in faults or 2 * len(faults) > len(dtypes)):
            first, *rest = faults
            also = f" (what fails too: {', '.join(rest)})" if rest else ""
            raise _stopped(backend, faults[first] + also)
    return withdrawn


def _faults_of_dtypes(
    asked: Backend, dtypes: tuple[str, ...], at: Callable[[str], object]
) -> Iterator[tuple[str, str]]:
    for dtype in dtypes:
        for sizes_name, sizes in _SIZES.items():
            name = f"{sizes_name} values of {dtype}"
            at(name)
            fault = _fault(_round_trip, asked, dtype, sizes)
            if fault is not None:
                yield dtype, f"{name}: {fault}"
                break


def _fault(run: Callable[..., object], *arguments: Any) -> str | None:
    """What a check found, or None; a dtype may be refused by Unsupported, a capability that is listed may not."""
    try:
        with np.errstate(all="ignore"):
            run(*arguments)
    except AdapterFault as fault:
        return str(fault)
    except Unsupported as refusal:
        return None if refusal.operator in _ALL_DTYPES else f"listed and refused: {refusal}"
    except ConformanceError as error:
        return error.message
    except Exception as error:
        return one_line(error)
    return None


def _stopped(backend: Backend, fault: str) -> BackendProblem:
    return BackendProblem(f"backend {backend.name!s}: its adapter fails before anything is judged: {fault}")


def _unknown_name(backend: Backend) -> None:
    """An operator that nothing has raises Unsupported."""
    members = "call, which must raise Unsupported for a name that it does not know"
    for name in UNKNOWN:
        given = f"call({name!r}, x)"
        try:
            tensor = backend.from_numpy(np.zeros(2, np.float32))
        except Exception as error:
            raise AdapterFault("an array of (2,) float32", f"came {one_line(error)}", "from_numpy") from error
        try:
            answer = backend.call(name, tensor)
        except (Unsupported, MissingCapability):
            continue
        except Exception as error:
            raise AdapterFault(given, f"came {one_line(error)}", members) from error
        raise AdapterFault(given, f"came an answer of type {type(answer).__name__}", members)


def _swallowed(backend: Backend) -> None:
    """A call that cannot succeed raises."""
    for operator in WRONGLY_CALLED:
        try:
            answer = backend.call(operator)
        except Unsupported:
            continue
        except Exception:
            return
        given = f"call({operator!r}) without operands"
        raise AdapterFault(given, f"came no exception but {shown(answer, 60)}", "call, which must let exceptions out")


CALLS: Mapping[str, Callable[[Backend], None]] = {
    "call of an unknown operator": _unknown_name,
    "exception through call": _swallowed,
}


def _round_trip(backend: Backend, dtype: str, sizes: tuple[int, ...]) -> None:
    """An array of ``sizes`` goes in and comes out with its shape, dtype and bits."""
    array = sample(dtype, sizes)
    given = f"an array of {sizes} {dtype}"
    try:
        tensor = backend.from_numpy(array.copy())
    except Unsupported:
        raise
    except Exception as error:
        raise AdapterFault(given, f"came {one_line(error)}", "from_numpy") from error
    for member, want in (("shape", sizes), ("dtype", dtype)):
        answer = _answer(backend, member, tensor, given)
        if member == "shape":
            answer = tuple(answer)
        if answer != want:
            raise AdapterFault(given, f"came a tensor of {member} {shown(answer, 60)}", f"from_numpy and {member}")
    if getattr(backend, "has_data", True):
        _compare(_answer(backend, "to_numpy", tensor, given), array, given, "from_numpy and to_numpy")


def sample(dtype: str, sizes: tuple[int, ...]) -> Array:
    """Hard values of ``dtype`` in an array of ``sizes``, and for the half formats NaNs that differ in their bits."""
    table = values.table(dtype)
    count = int(np.prod(sizes))
    if dtype in _HALF_NANS:
        nans = np.array(_HALF_NANS[dtype], np.uint16).view(numpy_dtype(dtype))
        table = np.concatenate([table, nans])
    return np.resize(table if sizes else table[1:], count).reshape(sizes)


def _answer(backend: Backend, member: str, tensor: Any, given: str) -> Any:
    try:
        return getattr(backend, member)(tensor)
    except Unsupported:
        raise
    except WrongAnswer as error:
        raise AdapterFault(given, str(error), member) from error
    except Exception as error:
        raise AdapterFault(given, f"{member} raised {one_line(error)}", member) from error


def _compare(got: Array, want: Array, given: str, members: str) -> None:
    """Raise AdapterFault where ``got`` differs in shape, dtype or bits."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise AdapterFault(given, f"came an array of {got.shape} {dtype_name(got.dtype)}", members)
    bad = np.argwhere(differing_bits(got, want))
    if len(bad):
        where = tuple(map(int, bad[0]))
        text = f"came {got[where]!s} ({_hex(got[where])}) for {want[where]!s} ({_hex(want[where])}) at {where}"
        raise AdapterFault(given, text, members)


def _hex(element: Any) -> str:
    return "0x" + np.asarray(element).tobytes()[::-1].hex()


def _identity(backend: Backend) -> None:
    """Storages are told apart, and one is told as itself."""
    one, two = (backend.from_numpy(np.arange(4, dtype=np.float32)) for _ in range(2))
    first, second = (_answer(backend, "storage_id", tensor, "a tensor of from_numpy") for tensor in (one, two))
    if first == second:
        raise AdapterFault("two tensors of from_numpy", f"came the same id, {shown(first, 60)}", "storage_id")
    if first != backend.storage_id(one):
        raise AdapterFault("one tensor, asked twice,", "came two different ids", "storage_id")
    if {"as_strided", "storage"} <= backend.capabilities:
        view = backend.call("as_strided", one, (2,), (2,), 0)
        # A view at another address is a copy: that is for the requirements to judge.
        if first != backend.storage_id(view) and backend.data_ptr(one) == backend.data_ptr(view):
            raise AdapterFault("a tensor and a view at its address", "came two different ids", "storage_id")


def _memory(backend: Backend) -> None:
    """Bytes and address of a storage can be read."""
    tensor = backend.from_numpy(np.zeros(4, np.float32))
    for member in ("storage_nbytes", "data_ptr"):
        _answer(backend, member, tensor, "a tensor of from_numpy")


def _observed_strides(backend: Backend) -> None:
    """Strides and offset of fresh tensors, and of views where they can be built, count elements."""
    tensor = backend.from_numpy(np.zeros((2, 3), np.float32))
    _expect_layout(backend, tensor, (2, 3), default_strides((2, 3)), 0, "a fresh tensor of (2, 3) float32")
    if "as_strided" in backend.capabilities:
        for name, case in VIEWS.items():
            given = f"the view {name}, {case!r},"
            _expect_layout(backend, _view(backend, case), case.sizes, case.strides, case.offset, given)


def _expect_layout(
    backend: Backend, tensor: Any, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, given: str
) -> None:
    wants = {"strides": strides, "storage_offset": offset}
    for member, want in wants.items():
        answer = _answer(backend, member, tensor, given)
        if (tuple(answer) if member == "strides" else answer) != want:
            raise AdapterFault(given, f"came {shown(answer, 60)} for {want}", f"{member}, which counts elements")


VIEWS: Mapping[str, TensorCase] = {
    "transposed": TensorCase("float32", (2, 3), (1, 2), kind="distinct"),
    "offset": TensorCase("float32", (3,), (1,), 2, 8, kind="distinct"),
    "expanded": TensorCase("float32", (2, 3), (0, 1), kind="distinct"),
    "gapped": TensorCase("float32", (2, 2), (5, 2), 1, 9, kind="distinct"),
}


def _built_views(backend: Backend) -> None:
    """Views read back as the suite builds them, over elements of four bytes and of one."""
    for name, case in VIEWS.items():
        for dtype in ("float32", "uint8"):
            drawn = case.with_dtype(dtype)
            given = f"the view {name}, {drawn!r},"
            view = _view(backend, drawn)
            if tuple(backend.shape(view)) != drawn.sizes:
                raise AdapterFault(given, f"came shape {tuple(backend.shape(view))}", "call('as_strided')")
            if getattr(backend, "has_data", True):
                members = "call('as_strided'), whose strides and offset count elements"
                _compare(_answer(backend, "to_numpy", view, given), drawn.array, given, members)


def _view(backend: Backend, case: TensorCase) -> Any:
    """Return a view as the suite builds it, before anything is read back."""
    base = backend.from_numpy(case.contents)
    return maker_of_views(backend)(base, case.sizes, case.strides, case.offset)


LAYOUTS: tuple[Check, ...] = (
    Check("views built by as_strided", ("as_strided",), _built_views),
    Check("bytes and address of storages", ("storage",), _memory),
    Check("identity of storages", ("storage", "strided"), _identity),
    Check("strides and offsets", ("strided",), _observed_strides),
)


def withdrawn_of(backend: Backend) -> dict[str, str]:
    """Capability or dtype -> why it was withdrawn from ``backend``."""
    return dict(backend.withdrawn) if isinstance(backend, Narrowed) else {}
