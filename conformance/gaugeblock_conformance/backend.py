"""The protocol a backend fulfils, and the markers and exceptions that cross it.

An adapter needs the members of :class:`Backend` and nothing else; one that lists neither capability ``strided`` nor
``storage`` may leave out their observers. What it can do beyond them it says in
``capabilities`` (names of ``gaugeblock_spec``); a requirement that needs another one is skipped, by name. What the
capabilities of dispatchers, kernels and autograd ask for are more names of ``call``: the tables of
:mod:`.backend_dispatch`, :mod:`.backend_kernels`, :mod:`.backend_autograd` and :mod:`.backend_allocator`. What the
library's own documentation rules otherwise than the spec stands in ``rules`` (:class:`HasOwnRules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .own_rules import OwnRule

Array = NDArray[Any]


NOT_OFFERED = "not offered by the backend"


class Unsupported(NotImplementedError):
    """Raised by an adapter's ``call`` when the backend does not offer the operator, or does not offer it in this form.

    Without a ``reason`` the operator is not offered in any form: the suite asks for no other call of it.
    """

    def __init__(self, operator: str, reason: str = NOT_OFFERED) -> None:
        super().__init__(f"{operator}: {reason}")
        self.operator = operator
        self.reason = reason


class UnsupportedDType(Unsupported):
    """Raised instead by an adapter's ``call`` when the backend offers the operator for other dtypes alone.

    ``operators/declared-dtypes-are-taken`` tells of it; nothing else is broken by that.
    """


class MissingCapability(Exception):
    """Raised by a session when a check needs a capability that the backend does not list.

    A backend fails if it raises this for a capability that it lists, or for an unknown one.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"missing capability: {name}")
        self.name = name


class DType(str):
    """A dtype argument of a call, by the spec's name (``"float32"``); adapters translate it to their own object."""

    __slots__ = ()


class MemoryFormat(str):
    """A memory-format argument: ``"contiguous_format"``, ``"preserve_format"`` or ``"channels_last"``."""

    __slots__ = ()


class Layout(str):
    """A layout argument: ``"strided"``, ``"sparse_coo"``, ``"sparse_csr"`` …"""

    __slots__ = ()


@runtime_checkable
class Backend(Protocol):
    """What the suite needs of every backend.

    Tensors are the backend's own objects; the suite never looks into them. ``call`` takes upstream's schema name
    (``"add.Tensor"``, ``"add_.Tensor"``, ``"add.out"`` with ``out=``) or a Python protocol's (``"__getitem__"``);
    every operator call of the suite goes through it.

    Results of the observers are converted to exact Python and NumPy types before they are compared (:mod:`.exact`): a
    subclass counts as its base class, and a result of any other type is a failure.
    """

    name: str
    version: str
    device: str
    capabilities: frozenset[str]

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        """A fresh contiguous tensor with its own storage holding a copy of ``array`` (same shape and dtype)."""

    def to_numpy(self, tensor: Any) -> Array:
        """The logical values as an array of the same shape and dtype (bfloat16 by ``ml_dtypes``)."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Run one operator; raises :class:`Unsupported` for one that the backend does not offer.

        Operators that answer with a dtype (``"promote_types"``, ``"result_type"``) give a :class:`DType`.
        """

    def shape(self, tensor: Any) -> Sequence[int]: ...

    def strides(self, tensor: Any) -> Sequence[int]:
        """Strides in elements."""

    def storage_offset(self, tensor: Any) -> int:
        """Offset of the first element in its storage, in elements."""

    def dtype(self, tensor: Any) -> str:
        """The spec's dtype name, e.g. ``"bfloat16"``."""

    def storage_id(self, tensor: Any) -> Any:
        """A value that two tensors share exactly when they share a storage (compared by ``==`` while both live)."""

    def storage_nbytes(self, tensor: Any) -> int: ...

    def data_ptr(self, tensor: Any) -> int:
        """Address of the first element."""


class WatchesStorages(Protocol):
    """Capability ``refcount``."""

    def watch_storage(self, tensor: Any) -> Callable[[], bool]:
        """A function that says whether the storage under ``tensor`` is still there, and does not keep it alive."""


class KnowsLayouts(Protocol):
    """Capabilities ``sparse_coo``, ``sparse_csr``, ``quantized`` and ``blocked``.

    ``to_numpy`` gives the elements of a tensor of any layout.
    """

    def is_strided(self, tensor: Any) -> bool:
        """Return whether the tensor has strides and a storage. The suite asks for them only if it has."""


class WrapsForeignMemory(Protocol):
    """Capability ``blob``."""

    def from_blob(self, address: int, sizes: Sequence[int], dtype: str, deleter: Callable[[int], object]) -> Any:
        """A row-major tensor over memory at ``address``; ``deleter(address)`` is called when it is needed no more."""


@dataclass
class AllocatorLog:
    """What an observed allocator gave and took back: (address, bytes), in order."""

    given: list[tuple[int, int]] = field(default_factory=list)
    taken: list[tuple[int, int]] = field(default_factory=list)


class HasPluggableAllocator(Protocol):
    """Capability ``alloc.pluggable``."""

    def observed_allocator(self) -> AbstractContextManager[AllocatorLog]:
        """Install, for a ``with`` block, an allocator that keeps a log; it goes on logging what is returned later."""


class DifferentiatesFunctions(Protocol):
    """Capabilities ``autograd.vjp`` and ``autograd.jvp``: gradients belong to functions, and not to tensors.

    A function takes tensors and gives a tuple of tensors; what it calls meanwhile goes through ``call``, with whatever
    stands for tensors while the backend differentiates. Complex gradients follow the conjugate Wirtinger convention.
    """

    def for_gradients(self) -> Backend:
        """The backend itself, or one over the same library that offers more than is judged by values."""

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """The gradient by each input where ``seeds`` are the incoming gradients, one for each result."""

    def jvp(self, function: Callable[..., Any], inputs: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        """The tangent of each result, where ``tangents`` are those of the inputs."""


class HandsOutFunctions(Protocol):
    """Optional, for benchmarks: what an operator costs without the adapter's own work.

    A class that overrides ``call`` below the one that defines ``function`` is timed through its ``call``.
    """

    def function(self, operator: str) -> Callable[..., Any]:
        """The backend's own callable behind ``call(operator, ...)``, for tensors, numbers and tuples by position.

        It may do what ``call`` refuses because the suite would judge it too strictly. Raises Unsupported.
        """


class TriesCapabilities(Protocol):
    """Optional, for adapters of many devices: capabilities that some of them have."""

    probes: Mapping[str, Callable[[], object]]
    """Capability -> a cheap call that raises where the device lacks it. The suite makes it once, before all else, and
    withdraws by name a listed capability whose call raises."""


class TellsRoutes(Protocol):
    """Optional: how the backend comes to its results, for the verdicts of reports and of ``gaugeblock support``."""

    def support(self, operator: str) -> str | None:
        """Of a schema name: ``"native"`` for a kernel of the device's own, ``"fallback"`` where other operators do the
        work, or another library or device; None where that depends on the operands, or the backend cannot tell.
        """


class BuildsViews(Protocol):
    """Optional, with capability ``as_strided``: operands are built by this, and not by the operator as_strided.

    For a library of which as_strided itself breaks the spec: that is then told of it alone.
    """

    def build_view(self, base: Any, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """The view of a fresh tensor with these strides and offset, in elements."""


class HasOwnRules(Protocol):
    """Optional: what the library's own documentation rules otherwise than the spec.

    Each row has the sentence and the address of the page that says so, and is listed in reports as "asked by its own
    rules". The kinds of rows, for classes of exceptions, dtypes of results, errors, texts of errors, strides, sharing
    and addresses that are not promised, and values left open, are described in :mod:`.own_rules`.
    """

    rules: Sequence[OwnRule]


Ran = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A call: operator, arguments by position and by name."""


class TellsWhatRan(Protocol):
    """Optional: what an adapter made of a call, for snippets; adapters over torch's names have it.

    ``call`` adds to ``ran``, unless that is None, the calls that it makes of the library, in terms of operators. If it
    makes one call, with other arguments than it was given, snippets have these.
    """

    ran: list[Ran] | None


class FinishesLater(Protocol):
    """Optional, for backends that return before the result is there; None where they do not.

    The suite calls it after every operator, so that an error is blamed on the call that caused it, and so do
    benchmarks.
    """

    finish: Callable[[Any], object] | None
    """Wait until the result of a call has been computed; raise its error if it failed."""


NUMPY_NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a spec dtype name (``bfloat16`` through ``ml_dtypes``)."""
    return _NUMPY_DTYPES[name]


def has_numpy_dtype(name: str) -> bool:
    """Return whether NumPy has a dtype of a spec's name; it has none of quantized dtypes and float8."""
    return name in _NUMPY_DTYPES


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The spec's name of a NumPy dtype."""
    return _NAMES.get(dtype) or dtype.name


def _table() -> dict[str, np.dtype[Any]]:
    table = {name: np.dtype(name) for name in NUMPY_NAMES}
    table["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
    return table


_NUMPY_DTYPES = _table()
_NAMES = {dtype: name for name, dtype in _NUMPY_DTYPES.items()}
