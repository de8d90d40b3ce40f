"""Kernels in two steps: one that plans, by the metas and plain arguments of a call, and one that runs.

A *plannable* kernel returns a plan, or its result where it has none:

    @kernel("flip")
    @plannable
    def flip(self, dims):
        ...
        return Planned.unrun(fresh, (self,), fresh.native(), (self,))

A plan has the metas of its results, and the call that makes such results from other tensors and numbers. Whoever calls
`flip` gets the result; out= is handed to the plan, which writes there; a binding keeps the call (see call_cache). The
call takes the tensors and numbers of the operator in the order of its schema, and skips every check that metas and
plain arguments decide. It returns None where the values of a number or tensor have to be looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

from ..dispatch.keys import tensors_in
from ..kernels.bound_call import Fresh, meet, nothing, shares
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.versions import bump_version, check_written_in_inference

P = ParamSpec("P")
R = TypeVar("R")


class Computation(Protocol):
    """Writes results, whose metas are known, into tensors."""

    @property
    def metas(self) -> tuple[TensorMeta, ...]:
        """The metas of the results."""
        ...

    def write(self, outs: Sequence[Tensor], values: Sequence[Any]) -> bool:
        """Write into tensors with these metas and memory of their own; False if the values are declined."""
        ...

    def writer(self, check: Callable[..., object]) -> Callable[..., Any] | None:
        """Return the call that writes into tensors given before the values, and returns the first; None where it has
        to be decided again. `check` raises for values that are declined."""
        ...


class Filling(NamedTuple):
    """A computation by a function that fills the results, and counts no change of them.

    A kernel may return it for its own arguments. Several results are in a named tuple of that `kind`, or a plain one,
    of tensors that `new` makes. `loops` do the same for other tensors with these metas.
    """

    metas: tuple[TensorMeta, ...]
    fill: Callable[..., object]
    kind: Callable[..., Any] | None = None
    new: Callable[[TensorMeta], Tensor] = new_like
    loops: Fresh | None = None

    @property
    def result(self) -> Any:
        """The results in new tensors, filled at each access."""
        if len(self.metas) == 1:
            made = self.new(self.metas[0])
            self.fill(made)
            return made
        several = tuple(map(self.new, self.metas))
        self.fill(*several)
        return several if self.kind is None else self.kind(*several)

    def write(self, outs: Sequence[Tensor], values: Sequence[Any]) -> bool:
        """Fill the tensors."""
        self.fill(*outs)
        return True

    def writer(self, check: Callable[..., object]) -> Callable[..., Any] | None:
        """Return the writer of the loops, if there are any."""
        return None if self.loops is None else self.loops.writer(check)


class Planned(Generic[R]):
    """The result of a kernel, computed when it is first needed, and the call that makes such a result from other
    tensors with the same metas; None where there is none.

    `operands` are the tensors and numbers that the call was planned for, in the order in which it takes them. None
    stands for all of the operator's. A `generic` call runs over one contiguous run of elements, its number last: with
    another number it serves row-major tensors of other sizes.
    """

    def __init__(
        self, result: Any, call: Callable[..., Any] | None, operands: tuple[Any, ...] | None = None,
        generic: bool = False,
    ) -> None:  # fmt: skip
        self._result, self.call, self.operands, self.generic = result, call, operands, generic
        self._work: _Work | None = None
        self.waits = False
        """True until the result is computed."""

    @classmethod
    def unrun(
        cls, computation: Computation, values: Sequence[Any], call: Callable[..., Any] | None,
        operands: tuple[Any, ...] | None, *, kind: Callable[..., R] | None = None,
        check: Callable[..., object] = nothing, generic: bool = False, outline: Any = None, listed: bool = False,
    ) -> Planned[R]:  # fmt: skip
        """Return a plan that computes its results when they are needed, or into given tensors.

        Several results are returned in a named tuple of that `kind`, or a plain one. `check` raises an error for values
        that the computation declines. `outline` is the result, if it is allocated already. The call takes a list of
        the values if they are `listed`.
        """
        planned = cls(outline, call, operands, generic)
        planned._work, planned.waits = _Work(computation, values, kind, check, _listed if listed else None), True
        return planned

    @classmethod
    def taking(
        cls, fresh: Fresh, take: Callable[..., Sequence[Any] | None], operands: tuple[Any, ...], *,
        values: Sequence[Any] | None = None, kept: bool = True, check: Callable[..., object] = nothing,
    ) -> Planned[Any]:  # fmt: skip
        """Return a plan of a call whose values are what `take` makes of the operands; None declines it. Those of this
        call are `values`, if they are given."""
        native, values = fresh.native(), take(*operands) if values is None else values
        call = (lambda *given: None if (taken := take(*given)) is None else native(*taken)) if kept else None
        planned = cls(None, call, operands)
        planned._work, planned.waits = _Work(fresh, values or (), None, check, take), True
        return planned

    @property
    def result(self) -> R:
        """The result, computed on first access."""
        if self.waits and self._result is None and self.call is not None and self.operands is not None:
            self._result = self.call(*self.operands)  # None where the values are declined
            self.waits = self._result is None
        result: Any = self.outline()
        if self.waits:
            self.compute(result if isinstance(result, tuple) else (result,))
            self.waits = False
        return result  # type: ignore[no-any-return]

    @property
    def values(self) -> Sequence[Any]:
        """The tensors and numbers that are read for the result."""
        return () if self._work is None else self._work.values

    @property
    def computation(self) -> Computation | None:
        """Return what computes the results, if they are not computed."""
        return None if self._work is None else self._work.computation

    def check(self) -> None:
        """Raise the error for values that the computation declines."""
        if self._work is not None:
            self._work.check(*self._work.values)

    def compute(self, outs: Sequence[Tensor], values: Sequence[Any] | None = None) -> None:
        """Compute the results in tensors, of other values if they are given. RuntimeError if another thread keeps
        changing an index."""
        for _ in range(2):
            if self._work is None or self._work.computation.write(outs, self.values if values is None else values):
                return
            self.check()
        raise RuntimeError("an index has changed while it was read")

    def outline(self) -> R:
        """Return the result, allocated but perhaps not computed yet."""
        if self._result is None and self._work is not None:
            made = tuple(map(new_like, self._work.computation.metas))
            kind = self._work.kind
            self._result = made[0] if len(made) == 1 else made if kind is None else kind(*made)
        return self._result  # type: ignore[no-any-return]

    @property
    def kind(self) -> Any:
        """The class of several results."""
        return type(self._result) if self._work is None else self._work.kind

    @property
    def metas(self) -> list[TensorMeta]:
        """The metas of the results."""
        if self._work is not None:
            return [*self._work.computation.metas]
        return [one.meta for one in (self._result if isinstance(self._result, tuple) else (self._result,))]

    def reads(self, outs: Sequence[Tensor]) -> bool:
        """Return whether one of some tensors shares memory with another, or with what the computation reads."""
        return meet(outs, self.values)

    def write(self, outs: Sequence[Tensor]) -> bool:
        """Compute the results in tensors; False if their metas differ, memory is shared, or a result exists."""
        if not self.waits or any(out.meta is not meta for out, meta in zip(outs, self.metas, strict=True)):
            return False
        if self.reads(outs):
            return False
        self.check()  # before anything is written
        for out in outs:
            check_written_in_inference(out)
        self.compute(outs)
        for out in outs:
            bump_version(out)
        return True

    def writer(self) -> Callable[..., Any] | None:
        """Return the call that writes the results into tensors with just these metas, given first; None if there is
        none. It returns None where one of them shares memory with an argument."""
        if self.call is None or any(meta.lazy or meta.has_autograd for meta in self.metas):
            return None
        if self._work is not None:
            write, take = self._work.computation.writer(self._work.check), self._work.take
            return write if write is None or take is None else _taking(write, take, len(self.metas))
        return partial(_copied, self.call, self.metas[0]) if len(self.metas) == 1 else None


class _Work(NamedTuple):
    """A computation and the values that it takes."""

    computation: Computation
    values: Sequence[Any]
    kind: Callable[..., Any] | None
    check: Callable[..., object]
    take: Callable[..., Sequence[Any] | None] | None
    """Makes the values of the operands, if they are not the same."""


class Plannable(Generic[P, R]):
    """A kernel that may return a `Planned` or a `Filling`; called as a function it returns the result."""

    __name__: str
    __qualname__: str
    loop: Callable[..., Any] | None = None
    """Returns the loop of a call without running it, for other devices; see device_loops."""

    def __init__(self, function: Callable[P, R | Planned[R] | Filling]) -> None:
        self.__wrapped__ = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return computed(self.__wrapped__(*args, **kwargs))  # type: ignore[no-any-return]

    def planned(self, *args: P.args, **kwargs: P.kwargs) -> Planned[R]:
        """Return the result together with the call behind it."""
        found = self.__wrapped__(*args, **kwargs)
        if isinstance(found, Filling):
            return Planned.unrun(found, [*tensors_in((*args, *kwargs.values()))], None, None, kind=found.kind)
        return found if isinstance(found, Planned) else Planned(found, None)

    def wrapped(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Plannable[P, R]:
        """Return the kernel that plans and runs in a wrapper."""
        return Plannable(wrapper(self.__wrapped__))


def planned_fresh(fresh: Fresh, *operands: Tensor, kind: Callable[..., Any] | None = None) -> Planned[Any]:
    """Plan a call of tensors with one result, or with several in a named tuple of this kind."""
    call = fresh.native()
    if kind is None:
        named = call
    elif fresh.refusing:
        named = lambda *operands: (found := call(*operands)) and kind(*found)  # noqa: E731
    else:
        named = lambda *operands: kind(*call(*operands))  # noqa: E731
    return Planned.unrun(fresh, operands, named, operands, kind=kind)


def computed(found: Any) -> Any:
    """Return what a kernel returned, computed."""
    kind = found.__class__
    return found.result if kind is Planned or kind is Filling else found


plannable = Plannable
"""Makes a function that may return a `Planned` a kernel."""


def planned_by(kernel: Callable[..., R], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Planned[R]:
    """Run a kernel; the call is None unless it is a plannable one."""
    return kernel.planned(*args, **kwargs) if isinstance(kernel, Plannable) else Planned(kernel(*args, **kwargs), None)


def apart(values: Sequence[Any], twice: dict[tuple[int, int], Tensor]) -> list[Any]:
    """Return the values with another tensor over the same elements where one is given again, in a list too, so that a
    plan tells its operands apart; `twice` has these tensors by place among the equal ones."""
    return _apart(values, twice, {})


def _apart(values: Sequence[Any], twice: dict[tuple[int, int], Tensor], counts: dict[int, int]) -> list[Any]:
    found = list(values)
    for place, value in enumerate(values):
        if value.__class__ in (list, tuple):
            found[place] = value.__class__(_apart(value, twice, counts))
        elif isinstance(value, Tensor):
            count = counts[id(value)] = counts.get(id(value), -1) + 1
            if count:
                key = id(value), count
                if key not in twice:
                    twice[key] = make_tensor(value.meta, value.storage_impl, value.offset, value.base)
                    twice[key].counter = value.counter
                found[place] = twice[key]
    return found


def given_twice(values: Sequence[Any]) -> bool:
    """Return whether a tensor is more than once among the values, those in lists included."""
    found = [id(one) for value in values for one in (value if value.__class__ in (list, tuple) else (value,))
             if isinstance(one, Tensor)]  # fmt: skip
    return len(found) != len(set(found))


def _listed(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    return tensors


def _taking(write: Callable[..., Any], take: Callable[..., Sequence[Any] | None], outs: int) -> Callable[..., Any]:
    """Return the call of so many out= and operands, of which `take` makes the values."""

    def written(*given: Any) -> Any:
        taken = take(*given[outs:])
        return None if taken is None else write(*given[:outs], *taken)

    return written


def _copied(call: Callable[..., Any], meta: TensorMeta, out: Tensor, *values: Any) -> Tensor | None:
    result = None if shares(out, values) else call(*values)
    if result is None or result.meta is not meta:
        return None
    bump_version(out)
    hooks.copy_into(out, result)
    return out
