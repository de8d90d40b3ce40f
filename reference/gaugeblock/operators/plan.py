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
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from ..kernels.bound_call import Fresh, Into, form_of
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.versions import bump_version

P = ParamSpec("P")
R = TypeVar("R")


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
        self._unrun: _Unrun | None = None

    @classmethod
    def unrun(
        cls, fresh: Fresh, values: Sequence[Any], call: Callable[..., Any] | None, operands: tuple[Any, ...] | None, *,
        kind: Callable[..., R] | None = None, declined: Callable[[], object] = bool, generic: bool = False,
    ) -> Planned[R]:  # fmt: skip
        """Return a plan that runs `fresh` when its result is needed, or into given tensors.

        Several results are returned in a named tuple of that `kind`, or a plain one. If the kernel refuses the values,
        `declined` raises the error.
        """
        planned = cls(None, call, operands, generic)
        planned._unrun = _Unrun(fresh, values, kind, declined)
        return planned

    @property
    def result(self) -> R:
        """The result, computed on first access."""
        if self._unrun is not None:
            fresh, values, kind, _ = self._unrun
            made = fresh(*values) if self._result is None else None
            if made is not None:
                self._result = made if kind is None else kind(*made)
            else:
                result: Any = self.outline()
                self._unrun.run(result if isinstance(result, tuple) else (result,))
            self._unrun = None
        return self._result  # type: ignore[no-any-return]

    def outline(self) -> R:
        """Return the result, allocated but perhaps not computed yet."""
        if self._result is None and self._unrun is not None:
            made = tuple(map(new_like, self.metas))
            self._result = made[0] if len(made) == 1 else made if self.kind is None else self.kind(*made)
        return self._result  # type: ignore[no-any-return]

    @property
    def kind(self) -> Any:
        """The class of several results."""
        return type(self._result) if self._unrun is None else self._unrun.kind

    @property
    def metas(self) -> list[TensorMeta]:
        """The metas of the results."""
        if self._unrun is not None:
            return [*self._unrun.fresh.metas]
        return [one.meta for one in (self._result if isinstance(self._result, tuple) else (self._result,))]

    def write(self, outs: Sequence[Tensor]) -> bool:
        """Compute the results in tensors; False if their metas differ, memory is shared, or a result exists."""
        if self._unrun is None or any(out.meta is not meta for out, meta in zip(outs, self.metas, strict=True)):
            return False
        if any(shares(out, (*self._unrun.values, *outs[:place])) for place, out in enumerate(outs)):
            return False
        self._unrun.declined()  # raises the error before anything is written
        for out in outs:
            bump_version(out)
        self._unrun.run(outs)
        return True


class _Unrun(NamedTuple):
    fresh: Fresh
    values: Sequence[Any]
    kind: Callable[..., Any] | None
    declined: Callable[[], object]

    def run(self, outs: Sequence[Tensor]) -> None:
        """Compute the results in tensors. RuntimeError if another thread keeps changing an index."""
        for _ in range(2):
            if self.fresh.write(outs, self.values):
                return
            self.declined()
        raise RuntimeError("an index has changed while it was read")


class Plannable(Generic[P, R]):
    """A kernel that may return a `Planned`; called as a function it returns the result."""

    __name__: str
    __qualname__: str
    loop: Callable[..., Any] | None = None
    """Returns the loop of a call without running it, for other devices; see device_loops."""

    def __init__(self, function: Callable[P, R | Planned[R]]) -> None:
        self.__wrapped__ = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found = self.__wrapped__(*args, **kwargs)
        return found.result if isinstance(found, Planned) else found

    def planned(self, *args: P.args, **kwargs: P.kwargs) -> Planned[R]:
        """Return the result together with the call behind it."""
        found = self.__wrapped__(*args, **kwargs)
        return found if isinstance(found, Planned) else Planned(found, None)

    def wrapped(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Plannable[P, R]:
        """Return the kernel that plans and runs in a wrapper."""
        return Plannable(wrapper(self.__wrapped__))


plannable = Plannable
"""Makes a function that may return a `Planned` a kernel."""


def planned_by(kernel: Callable[..., R], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Planned[R]:
    """Run a kernel; the call is None unless it is a plannable one."""
    return kernel.planned(*args, **kwargs) if isinstance(kernel, Plannable) else Planned(kernel(*args, **kwargs), None)


def apart(values: Sequence[Any], twice: dict[tuple[int, int], Tensor]) -> list[Any]:
    """Return the values with another tensor over the same elements where one is given again, so that a plan tells its
    operands apart; `twice` has these tensors by place among the equal ones."""
    found = list(values)
    for place, value in enumerate(values):
        count = sum(value is one for one in values[:place]) if isinstance(value, Tensor) else 0
        if count:
            key = id(value), count
            if key not in twice:
                twice[key] = make_tensor(value.meta, value.storage_impl, value.offset, value.base)
                twice[key].counter = value.counter
            found[place] = twice[key]
    return found


def written(call: Callable[..., Any], meta: TensorMeta) -> Callable[..., Tensor | None] | None:
    """Return the call that writes its result into a tensor with just that meta, given first: a compiled kernel writes
    it there, any other result is copied. It returns None where out= shares memory with an argument."""
    form = form_of(call)
    if isinstance(form, Fresh) and form.metas == (meta,) and not form.refusing:
        return partial(_write, form, meta) if form.temporary else Into(form.kernel, form.tail, form.limited).native()
    return None if meta.lazy or meta.has_autograd else partial(_write, call, meta)


def _write(call: Fresh | Callable[..., Any], meta: TensorMeta, out: Tensor, *values: Any) -> Tensor | None:
    if isinstance(call, Fresh) and not shares(out, values):
        bump_version(out)
        return out if call.write((out,), values) else None
    result = None if shares(out, values) else call(*values)
    if result is None or result.meta is not meta:
        return None
    bump_version(out)
    hooks.copy_into(out, result)
    return out


def shares(out: Tensor, values: Sequence[Any]) -> bool:
    """Return whether a tensor among the values, those in lists included, is on the storage of `out`."""
    storage = out.storage_impl
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            if value.storage_impl is storage:
                return True
        elif (kind is list or kind is tuple) and shares(out, value):
            return True
    return False
