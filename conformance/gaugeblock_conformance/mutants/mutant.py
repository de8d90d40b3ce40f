"""A mutant: a right backend with one fault, written as a small patch of some of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..backend import Array, Backend, Unsupported
from .target import Target, parse, spelled_out

Patch = Callable[["Intercepted"], Any]

CLASSES = (
    "values", "dtypes", "empties and errors", "numerics", "thresholds", "aliasing and purity", "strides and layout",
    "dispatcher", "kernels", "operators", "autograd", "allocator", "interop", "layouts",
)  # fmt: skip
OBSERVERS = frozenset(
    """from_blob iteration_plan to_numpy shape strides storage_offset dtype storage_id storage_nbytes data_ptr
    version_of""".split()
)


@dataclass(frozen=True)
class Mutant:
    """``patch`` answers every call of one of ``operators`` instead of the right backend.

    An operator is a schema name (``"add.Tensor"``), a base name for all overloads (``"add"``), a namespace
    (``"suite::"``), ``"*"`` for every operator, or a member of the backend protocol beside ``call`` (``"strides"``).
    ``breaks`` names the requirements whose sentence the patch contradicts, as ``"area/slug"`` or
    ``"area/slug[operator]"``: only a verdict on one of them catches the mutant. ``base`` names the right backend where
    it is not that of the run, which does not have what is broken; ``deadly`` says that the patch ends the process.

    Raises:
        ValueError: a mutant that breaks nothing, or something that the spec does not have.
    """

    name: str
    kind: str
    breaks: tuple[str, ...]
    operators: tuple[str, ...]
    patch: Patch
    base: str = ""
    deadly: bool = False

    def __post_init__(self) -> None:
        if not self.breaks:
            raise ValueError(f"mutants: {self.name!r} names no requirement that it breaks")
        for text in self.breaks:
            try:
                parse(text)
            except ValueError as error:
                raise ValueError(f"mutants: {self.name!r} breaks {error}") from None

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it breaks."""
        return tuple(map(parse, self.breaks))

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas of what it breaks."""
        return tuple(dict.fromkeys(target.requirement.partition("/")[0] for target in self.targets))


# Name, operators and patch, behind the name what is broken unless the whole table breaks the same.
Row = tuple[str, Sequence[str], Patch] | tuple[str, str, Sequence[str], Patch]


def rows(
    kind: str, *given: Row, breaks: str = "", within: Callable[[Patch], Patch] | None = None, base: str = "",
    deadly: bool = False,
) -> tuple[Mutant, ...]:  # fmt: skip
    """Return a mutant for each row of a table.

    What a mutant breaks is written as words, of which those that end in ``[]`` stand for each of its operators.
    ``within`` makes the patches of what stands in the table.
    """
    found = []
    for name, *broken, operators, patch in given:
        words = " ".join(map(str, broken)) or breaks
        made = patch if within is None else within(patch)
        found.append(Mutant(name, kind, spelled_out(words, operators), tuple(operators), made, base, deadly))
    return tuple(found)


class MutantBroken(BaseException):
    """The patch itself failed: nothing that a test may take for a verdict on the backend."""


class Intercepted:
    """One call of a mutant, as its patch sees it."""

    __slots__ = ("_blessed", "args", "backend", "kwargs", "memory", "operator")

    def __init__(
        self, backend: Backend, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any], memory: dict[Any, Any]
    ) -> None:
        self.backend = backend
        self.operator = operator
        self.args = args
        self.kwargs = kwargs
        self.memory = memory
        self._blessed: BaseException | None = None

    @property
    def base(self) -> str:
        return self.operator.split(".")[0]

    @property
    def inplace(self) -> bool:
        """Whether the call writes to a tensor of the caller."""
        return (self.base.endswith("_") and not self.base.startswith("__")) or self.kwargs.get("out") is not None

    def right(self) -> Any:
        """What the right backend answers (its exceptions are the mutant's too)."""
        return self._run(self.args, self.kwargs)

    def instead(self, *args: Any, **kwargs: Any) -> Any:
        """The right backend's answer to other arguments; to the given ones where it refuses the others."""
        try:
            return self._run(args, kwargs)
        except Exception:
            return self.right()

    def by(self, other: Callable[[], Any]) -> Any:
        """What something else answers in the right backend's place; its exceptions are the mutant's too."""
        try:
            return other()
        except Exception as error:
            self._blessed = error
            raise

    def refuse(self, kind: type[Exception], text: str) -> NoReturn:
        """Raise as a backend does."""
        self._blessed = kind(f"{self.operator}: {text}")
        raise self._blessed

    def do(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Another call of the right backend."""
        return self.backend.call(operator, *args, **kwargs)

    @property
    def has_data(self) -> bool:
        return bool(getattr(self.backend, "has_data", True))

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.memory["type"])

    def array(self, tensor: Any) -> Array:
        """A copy of the tensor's values."""
        return np.array(self.backend.to_numpy(tensor))

    def tensor(self, array: Array) -> Any:
        return self.backend.from_numpy(np.asarray(array))

    def put(self, tensor: Any, array: Array) -> Any:
        """Overwrite the tensor's values without a trace in its version."""
        target = self.do("data", tensor) if "version" in self.backend.capabilities else tensor
        self.do("copy_", target, self.tensor(array))
        return tensor

    def geometry(self, tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        b = self.backend
        return tuple(b.shape(tensor)), tuple(b.strides(tensor)), b.storage_offset(tensor)

    def restride(self, tensor: Any, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """Another view of the tensor's storage; the tensor itself where that would leave the storage."""
        reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        room = self.backend.storage_nbytes(tensor) // self.array_itemsize(tensor)
        if offset + reach > room:
            return tensor
        return self.do("as_strided", tensor, tuple(sizes), tuple(strides), offset)

    def array_itemsize(self, tensor: Any) -> int:
        return self.backend.to_numpy(tensor).itemsize

    def alias(self, tensor: Any) -> Any:
        """Another tensor object over the same elements."""
        return self.do("as_strided", tensor, *self.geometry(tensor))

    def verdict_of(self, error: BaseException) -> bool:
        """Return whether ``error`` is the backend's own answer rather than a defect of the patch."""
        return error is self._blessed or isinstance(error, Unsupported)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            if self.operator in OBSERVERS:
                return getattr(self.backend, self.operator)(*args, **kwargs)
            return self.backend.call(self.operator, *args, **kwargs)
        except Exception as error:
            self._blessed = error
            raise


class MutantBackend:
    """``right`` with the fault of ``mutant``; fulfils the same protocol."""

    def __init__(self, right: Backend, mutant: Mutant) -> None:
        self._right = right
        self._mutant = mutant
        self._memory: dict[Any, Any] = {"type": type(right.from_numpy(np.zeros(1, np.float32)))}
        self._all = "*" in mutant.operators
        self._names = frozenset(mutant.operators)
        for member in OBSERVERS & self._names:
            setattr(self, member, self._observer(member))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if self._all or operator in self._names or operator.partition(".")[0] in self._names:
            return self._answer(operator, args, kwargs)
        if "::" in operator and f"{operator.partition('::')[0]}::" in self._names:
            return self._answer(operator, args, kwargs)
        return self._right.call(operator, *args, **kwargs)

    def _answer(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        intercepted = Intercepted(self._right, operator, args, kwargs, self._memory)
        try:
            return self._mutant.patch(intercepted)
        except Exception as error:
            if intercepted.verdict_of(error):
                raise
            intercepted.right()  # A call that the right backend refuses is refused in its way.
            raise MutantBroken(f"{self._mutant.name} on {operator}: {type(error).__name__}: {error}") from error

    def _observer(self, member: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._answer(member, args, kwargs)
