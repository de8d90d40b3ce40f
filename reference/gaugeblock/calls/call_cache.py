"""The call cache: the operator, the metas and the plain arguments of a call lead straight to what it runs.

An entry is a callable of the call's tensors and numbers, in the order of the binding's parameters: a bound call of a
compiled kernel (kernels/bound_call.py), another call that a kernel has planned (operators/plan.py), or the kernel that
the dispatcher found. It returns None if values have to be looked at again. False stands for no entry, and None for a
composite kernel that ran once: it notes its parts the next time. Entries lie in the meta of the first tensor; those
of tensors with the Autograd key may have a call for each mode, `by_mode`. The general path makes them: it resolves the
overload, asks the dispatcher for the kernel, lets it plan and keeps the call.

With the environment variable ``GAUGEBLOCK_CALL_CACHE=0`` nothing is kept: every call takes the general path.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple

from ..core.device import Device, cpu
from ..core.dtype import DType
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat
from ..dispatch.dispatcher import call, plain_kernel
from ..dispatch.keys import any_autograd, tensors_in
from ..dispatch.operator import Operator
from ..dispatch.state import AUTOGRAD_IN_USE
from ..kernels.bound_call import UNSET, Change, Fresh, Into, Part, Slice, Unset, form_of, view_call
from ..operators.composition import Composite, Unrecorded
from ..operators.copy import fresh_copy
from ..operators.deferred import Deferred
from ..operators.device_loops import DEVICE_LOOPS, device_call
from ..operators.plan import Plannable, Planned, apart, given_twice
from ..operators.registration import unguarded
from ..tensor.hooks import SPECIAL, UNRECORDED
from ..tensor.metadata import detach, resize_as_
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, only_ints, remember
from ..tensor.view_table import VIEWS, ViewFunction
from ..tensor.views import narrow, select, slice_dim
from .caller import Bound, Caller, Single
from .overloads import Parameter

OTHER: Any = object()
"""Stands in a key for a value that the cache does not distinguish: a call with such a key is never kept."""
LATER: Any = object()
"""Stands for an entry that will be made by the next call."""
TRUE, FALSE = object(), object()
"""Stand in a key for bools where ints may stand too, which are equal to them."""
BY_VALUE = frozenset({int, str, type(None), DType, Device, Layout, MemoryFormat, Unset, object})
def plain(value: Any) -> Any:
    """Return the part in a key of an argument that is neither tensor nor number."""
    kind = value.__class__
    if kind is tuple or kind is list or isinstance(value, (tuple, list)):
        if only_ints(value):
            return value if kind is tuple else tuple(value)
        return tuple(map(repr, value)) if all(one.__class__ in (int, float) for one in value) else OTHER
    if kind in BY_VALUE:
        return value
    return (TRUE if value else FALSE) if kind is bool else OTHER


def valued(number: Any) -> Any:
    """Return the part in a key of a number whose value matters."""
    kind = number.__class__
    return (kind, repr(number)) if kind is float or kind is int else plain(number)


def holds_tensors(value: Any) -> bool:
    """Return whether an argument is a list that begins with a tensor."""
    return (value.__class__ is list or value.__class__ is tuple) and len(value) > 0 and isinstance(value[0], Tensor)


def metas(tensors: Any, none: Any = OTHER) -> Any:
    """Return the part in a key of a list of tensors, in which `none` stands for None."""
    if tensors.__class__ is list or tensors.__class__ is tuple:
        return tuple([one.meta if one.__class__ is Tensor else none if one is None else OTHER for one in tensors])
    return OTHER


ENABLED = os.environ.get("GAUGEBLOCK_CALL_CACHE") != "0"


class Request(NamedTuple):
    """A call as the cache sees it: the meta that holds its entry, its key there, and the values for the entry."""

    meta: TensorMeta
    key: tuple[Any, ...]
    values: tuple[Any, ...]

    @property
    def metas(self) -> list[TensorMeta]:
        """The metas of its tensors, those in lists included."""
        return [one.meta for one in tensors_in(self.values)]

    def is_single(self) -> bool:
        """Return whether the entry gets nothing but one tensor."""
        return len(self.values) == 1

    def has_subclass(self) -> bool:
        """Return whether a tensor is of a subclass, which stands in the key instead of its meta."""
        return any(isinstance(value, Tensor) and value.__class__ is not Tensor for value in self.values)


def by_mode(recorded: Callable[..., Any] | None, unrecorded: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return an entry for two modes: every thread records, or one does not. It returns None where a call is missing."""

    def run(*values: Any) -> Any:
        call = unrecorded if UNRECORDED else recorded
        return None if call is None else call(*values)

    run.modes = recorded, unrecorded  # type: ignore[attr-defined]
    return run


def modes_of(entry: Any) -> tuple[Callable[..., Any] | None, Callable[..., Any] | None]:
    """Return the two calls of an entry: while every thread records, and while one does not."""
    return getattr(entry, "modes", (entry or None, None))


GENERIC: dict[tuple[Any, ...], Fresh | Into] = {}
"""Key with the dtypes of metas in their places -> the call over one contiguous run, whose kernel serves every size."""


class Filler:
    """The general path of one binding, which fills the cache. `view` is given for operators on metadata alone, which
    need no dispatch on plain tensors."""

    __slots__ = ("caller", "parameters", "view")

    def __init__(
        self, caller: Caller | Single, parameters: Sequence[Parameter], view: ViewFunction | None = None
    ) -> None:
        self.caller = caller
        self.parameters = parameters
        self.view = view

    def run(self, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call that has no entry, and keep one if there may be one."""
        if SPECIAL or OTHER in request.key or request.has_subclass():
            return self.caller(*args, **kwargs)
        tracked = AUTOGRAD_IN_USE and any_autograd(request.values, {})
        if self.view is not None and (not tracked or self.view.function is detach):
            result = self._viewed(self.view, request, args, kwargs)
            if result is not None:
                return result
        known = request.meta.calls.get(request.key)
        missing = known is None or (known and tracked and modes_of(known)[bool(UNRECORDED)] is None)
        if not ENABLED or not missing or any(meta.lazy for meta in request.metas):
            return self.caller(*args, **kwargs)  # lazy tensors are resolved by the dispatcher
        reused = None if tracked else self._reused(request)
        if reused is not None:
            result = reused(*request.values)
            return self.caller(*args, **kwargs) if result is None else result
        return self.caller.explaining(self._filled, args, kwargs, request, tracked)

    def _viewed(self, view: ViewFunction, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of an operator on metadata; None for arguments that its function does not take, of which
        the general path says what the schemas allow."""
        place = next((place for place, parameter in enumerate(self.parameters) if parameter.spread), None)
        if place is not None and (len(args) > place + 1 or (len(args) > place and args[place].__class__ is int)):
            args = (*args[:place], args[place:])
        self_ = request.values[0]
        try:
            result = view.function(self_, *args[1:], **kwargs)
        except (TypeError, AttributeError):
            return None
        if ENABLED:
            made = view_entry(view, request, (self_, *args[1:]), kwargs, result)
            entry = made or self._kernel_call(view.function, request, (self_, *args[1:]), kwargs)
            remember(request.meta.calls, request.key, entry or False)
        return result

    def _filled(self, args: tuple[Any, ...], kwargs: dict[str, Any], request: Request, tracked: bool) -> Any:
        found = self.caller.bind(args, kwargs)
        if not isinstance(found, Bound):
            return found
        operator, values, options = found
        kernel = None if tracked and "out" in options else plain_kernel(operator, values, options)
        calls = request.meta.calls
        if not tracked and request.meta.device.type in DEVICE_LOOPS:
            result = call(operator, *values, **options)
            given = [value for value in request.values if value is not UNSET and value is not None]
            form = device_call(operator, values, options, given)
            if form is not None:
                remember(calls, request.key, form.native())
                return result
            if kernel is not None and result is not None and "out" not in options:
                remember(calls, request.key, self._kernel_call(kernel, request, values, options) or False)
            return result
        if kernel is None:
            return call(operator, *values, **options)
        once = not given_twice(request.values)
        composite = unguarded(kernel, request.metas) if isinstance(kernel, (Composite, Deferred)) else None
        notes = isinstance(composite, Composite)
        if notes and request.key not in calls:  # to note the parts takes longer than to run them once
            remember(calls, request.key, None)
            return kernel(*values, **options)
        if isinstance(composite, Composite) and tracked and UNRECORDED:
            kernel = Unrecorded(composite)
        if isinstance(kernel, Plannable) and (not tracked or (notes and once)):
            if not once:
                twice: dict[tuple[int, int], Tensor] = {}
                request = request._replace(values=tuple(apart(request.values, twice)))
                out = [options["out"]] if "out" in options else []
                values = apart([*out, *values], twice)[len(out) :]
            planned = kernel.planned(*values, **options)
            entry = self._planned(request, planned)
            if entry is not None:
                outs = options.get("out", ())
                outs = outs if isinstance(outs, tuple) else (outs,)
                if all(map(is_, [one.meta for one in outs], request.key[len(request.key) - len(outs) :])):
                    self._keep(request, entry, tracked)
                self._keep_generic(request, entry, planned)
                return planned.result
            result = planned.result
        else:
            result = kernel(*values, **options)
        if result is not None and "out" not in options:
            record = getattr(kernel, "recorded", None) if tracked and not UNRECORDED else None
            if result is request.values[0] and request.is_single() and _is_view(operator):
                entry = itself
            else:
                entry = None if record is None else record(values, options, request.values, result)
            if entry is LATER:
                return result
            if entry is None and operator.name in VIEWS and not tracked and request.is_single():
                entry = view_call(values[0], result)
            self._keep(request, entry or self._kernel_call(kernel, request, values, options), tracked)
        return result

    def _keep(self, request: Request, entry: Callable[..., Any] | None, tracked: bool) -> None:
        """Keep the entry of a call, beside that of the other mode if the call is tracked."""
        calls, key = request.meta.calls, request.key
        if tracked and entry is not None:
            recorded, unrecorded = modes_of(calls.get(key))
            if UNRECORDED:
                entry = by_mode(recorded, entry)
            elif unrecorded is not None:
                entry = by_mode(entry, unrecorded)
        remember(calls, key, entry or False)

    def _planned(self, request: Request, planned: Planned[Any]) -> Callable[..., Any] | None:
        """Return the entry that a plan makes; None where it was not made for just the values of the request."""
        if planned.call is None:
            return None
        if planned.operands is None:
            bound = form_of(planned.call) is not None
            return planned.call if bound else self._of_places(planned.call, [*range(len(request.values))], request, ())
        places = [place for place, value in enumerate(request.values) if value is not UNSET and value is not None]
        left, taken = list(places), list[int | None]()
        for operand in planned.operands:
            place = next((place for place in left if _stands_for(request.values[place], operand)), None)
            if place is not None:
                left.remove(place)
            elif isinstance(operand, (Tensor, list, tuple)):
                return None
            taken.append(place)
        form = form_of(planned.call)
        if left:
            return None
        if form is None or taken[: len(places)] != places:
            return self._of_places(planned.call, taken, request, planned.operands)
        defaults = planned.operands[len(places) :]
        return form._replace(tail=(*defaults, *form.tail)).native() if defaults else planned.call

    def _kernel_call(
        self, kernel: Callable[..., Any], request: Request, values: Sequence[Any], options: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """Return the kernel as a function of the request's values, the rest as it is; None if it got other values."""
        passed = [place for place, parameter in enumerate(self.parameters) if parameter.value() is not None]
        kernel = unguarded(kernel, request.metas)
        filled, named = list(values), dict(options)
        slots: list[int | str | None] = []
        for place, value in zip(passed, request.values, strict=True):
            name = self.parameters[place].name
            if value is UNSET or (value is None and self.parameters[place].default == "None"):
                slots.append(None)
            elif name in named and is_same(value, named[name]):
                slots.append(name)
                named[name] = None
            elif place < len(filled) and is_same(value, filled[place]):
                slots.append(place)
                filled[place] = None
            else:
                return None
        ints = self._ints(request)
        if slots == list(range(len(filled))) and not named and not ints:
            return kernel
        adapt = adapter(tuple(slots), len(filled), tuple(named), ints)
        made: Callable[..., Any] = adapt(kernel, *filled, *named.values())
        return made

    def _of_places(
        self, call: Callable[..., Any], places: Sequence[int | None], request: Request, operands: Sequence[Any]
    ) -> Callable[..., Any]:
        """Return `call` as a function of the request's values, of which it takes those at some places, and the operand
        itself where there is none."""
        count, ints = len(request.values), self._ints(request)
        if places == [*range(count)] and not ints:
            return call
        slots = tuple([places.index(place) if place in places else None for place in range(count)])
        held = [operand if place is None else None for place, operand in zip(places, operands, strict=False)]
        made: Callable[..., Any] = adapter(slots, len(places), (), ints)(call, *(held or [None] * len(places)))
        return made

    def _ints(self, request: Request) -> tuple[int, ...]:
        """Return the places of the numbers among the values that are ints, which must fit 64 bits."""
        if self.view is not None:
            return ()
        return tuple([place for place, value in enumerate(request.values) if value.__class__ is int])

    def _keep_generic(self, request: Request, entry: Callable[..., Any], planned: Planned[Any]) -> None:
        """Keep the kernel of a call over one contiguous run for calls on other sizes."""
        form = form_of(entry)
        if not planned.generic or form is None or not _is_row_major(request.metas):
            return
        if isinstance(form, Into) or form.results == (_of_sizes(request, form),):
            GENERIC[_without_sizes(request)] = form

    def _reused(self, request: Request) -> Callable[..., Any] | None:
        """Return the entry made of the kernel that served the same dtypes and other sizes; None if there was none."""
        if not _is_row_major(request.metas):
            return None
        form = GENERIC.get(_without_sizes(request))
        if form is None:
            return None
        if isinstance(form, Fresh):
            form = form._replace(results=(_of_sizes(request, form),))
        entry = form._replace(tail=(*form.tail[:-1], request.meta.numel)).native()
        remember(request.meta.calls, request.key, entry)
        return entry


def itself(tensor: Tensor, *others: Any) -> Tensor:
    """Return the first tensor: the entry of a call that changes nothing."""
    return tensor


def view_entry(
    view: ViewFunction, request: Request, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> Callable[..., Any] | None:
    """Return the entry for calls like one that was made of the arguments and returned `result`; None if its function
    has to run each time."""
    self = args[0]
    plain = not any(isinstance(one, Tensor) for one in request.values[1:])
    if result is self:
        if not view.changes:
            return itself if request.is_single() else None
        if view.function is resize_as_ and self.meta is request.meta and not kwargs:
            return itself
        kept = view.at_same_place and self.autograd is None and self.meta.ndim <= MOST_DIMS
        return Change(self.meta).native() if kept else None
    if view.function in PARTS:
        return None if kwargs or not plain else PARTS[view.function](result, *args)
    if view.at_same_place or (view.placed and plain):
        viewed = view_call(self, result)
        copy = fresh_copy(result, self) if viewed is None and view.at_same_place else None
        return viewed or (copy if plain or copy is None else lambda self, *_: copy(self))
    return None


def _selected(result: Tensor, self: Tensor, dim: int, index: int) -> Callable[..., Any]:
    meta = self.meta
    size, stride = meta.sizes[dim], meta.strides[dim]
    return Part(result.meta, size, size - 1, stride, meta.dtype.itemsize).native()


def _narrowed(result: Tensor, self: Tensor, dim: int, start: int, length: int) -> Callable[..., Any]:
    meta = self.meta
    size, stride = meta.sizes[dim], meta.strides[dim]
    return Part(result.meta, size, size - length, stride, meta.dtype.itemsize).native()


def _sliced(
    result: Tensor, self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Callable[..., Any] | None:
    meta = self.meta
    key = ("slices", dim, step)
    metas = meta.views.get(key)
    if metas is None:
        metas = remember(meta.views, key, {})
    if len(metas) >= MOST_LENGTHS:
        metas.clear()
    metas[result.meta.sizes[dim]] = result.meta
    if start.__class__ is bool or end.__class__ is bool:
        return None
    return Slice(metas, meta.sizes[dim], step, meta.strides[dim], meta.dtype.itemsize).native()


MOST_LENGTHS, MOST_DIMS = 1024, 64
"""Lengths of slices that are kept for a tensor, and dims of a tensor whose change is kept."""
PARTS: dict[Callable[..., Any], Callable[..., Callable[..., Any] | None]] = {
    select: _selected, narrow: _narrowed, slice_dim: _sliced,
}  # fmt: skip
"""Function of a view of a part -> the entry for a call that returned such a view."""


def _is_view(operator: Operator) -> bool:
    """Return whether an operator returns its tensor or a view of it, and does not change it."""
    returns = operator.schema.returns
    return len(returns) == 1 and returns[0].alias is not None and not returns[0].alias.mutable


def _of_sizes(request: Request, form: Fresh) -> TensorMeta:
    """Return the meta of a new result of these sizes."""
    return contiguous_meta(request.meta.sizes, form.results[0].dtype)


def _without_sizes(request: Request) -> tuple[Any, ...]:
    """Return the key with the dtypes of metas in their places."""
    return (request.meta.dtype, *[one.dtype if isinstance(one, TensorMeta) else one for one in request.key])


def _is_row_major(metas: Sequence[TensorMeta]) -> bool:
    """Return whether all have the same sizes, elements on the CPU, and the strides of a new tensor. Other strides of
    dims of size 1 change the strides of the result."""
    first = metas[0]
    if first.strides != default_strides(first.sizes) or not first.numel or first.device is not cpu:
        return False
    return all(meta.sizes == first.sizes and meta.strides == first.strides and meta.device is cpu for meta in metas[1:])


def _stands_for(value: Any, operand: Any) -> bool:
    """Return whether a plan's operand is what was given, or the float that an int was converted to."""
    if value.__class__ is int and operand.__class__ is float:
        return bool(value == operand)
    return is_same(value, operand) if operand.__class__ in (list, tuple) else value is operand


def is_same(value: Any, passed: Any) -> bool:
    """Return whether the general path passes a value on as it is given: tensors by identity, lists by their items."""
    if value.__class__ in (list, tuple) and passed.__class__ in (list, tuple):
        return len(value) == len(passed) and all(map(is_, value, passed))
    return value is passed


@functools.cache
def adapter(
    slots: tuple[int | str | None, ...], places: int, names: tuple[str, ...], ints: tuple[int, ...]
) -> Callable[..., Any]:
    """Return a function of a kernel, of values for `places` places and of values for `names`. What that returns calls
    the kernel with other values in some `slots`, which are places, names, or None for a value that is left out. It
    returns None when one of the values that are `ints` does not fit 64 bits.
    """
    given = {slot: f"value{k}" for k, slot in enumerate(slots) if slot is not None}
    passed = [given.get(place, f"place{place}") for place in range(places)]
    passed += [f"{name}={given.get(name, f'name_{name}')}" for name in names]
    held = ", ".join(["kernel", *(f"place{k}" for k in range(places)), *(f"name_{name}" for name in names)])
    values = ", ".join(f"value{k}" for k in range(len(slots)))
    space: dict[str, Any] = {}
    fits = "".join(f" if {-(1 << 63)} <= value{k} < {1 << 64} else None" for k in ints)
    source = f"def adapt({held}):\n    return lambda {values}: kernel({', '.join(passed)}){fits}\n"
    exec(compile(source, "<gaugeblock binding adapter>", "exec"), space)
    made: Callable[..., Any] = space["adapt"]
    return made
