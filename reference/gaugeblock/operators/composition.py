"""Kernels that are made of operators: the calls of their parts make up the call that the cache keeps.

    @composite
    def l1_loss(part, self, target, reduction=MEAN):
        return reduced(part, part("abs", part("sub.Tensor", self, target)), reduction)

When such a kernel is planned, `part` runs an operator and notes what it ran with what. The notes become a function of
the kernel's tensors and numbers that runs the same calls again; where gradients are recorded, these are the operators'
calls that record them:

    def run(given0, given1):
        made0 = call0(given0, given1)
        if made0 is None:
            return None
        ...

So what the kernel does may depend on metas, plain arguments and numbers, but not on the values of tensors. The last
parts, whose results nobody has read, wait: with out= they are computed in the given tensors, by a function of the same
lines that takes these first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar

from ..core.memory_format import contiguous_format
from ..dispatch.dispatcher import REGISTRY, plain_kernel
from ..dispatch.operator import Operator
from ..dispatch.state import IN_PYTHON, STATE
from ..kernels.bound_call import UNSET, Fresh, Into, View, meet, nothing, view_call
from ..kernels.pointwise import Launch
from ..tensor.hooks import SPECIAL, UNRECORDED
from ..tensor.metadata import detach
from ..tensor.reshaping import inferred_sizes
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, view_strides
from ..tensor.view_table import VIEWS
from .invoke import invoke, kept_call
from .plan import Plannable, Planned

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


MAY_COPY = frozenset({"reshape_as", "flatten.using_ints", "ravel", "contiguous", "resolve_conj", "resolve_neg"})
"""Views that read the elements of some tensors."""


class _Waiting(NamedTuple):
    """A part whose results are allocated but not computed yet, and the line that notes its call of some operands."""

    plan: Planned[Any]
    results: Sequence[Tensor]
    line: int
    operands: Sequence[Any]


class Part:
    """Runs operators for one kernel and notes their calls, as long as nothing but the call cache would see them. A part
    is computed when another one reads its results, so that those of the kernel may be written into out=."""

    __slots__ = ("_given", "_held", "_lines", "_names", "_tracked", "_waiting", "_waits", "_whole")

    def __init__(self, given: Sequence[Any], *, waits: bool = True) -> None:
        self._given = [*filter(_is_noted, given)]
        self._tracked = any(one.meta.has_autograd for one in _flat(given) if isinstance(one, Tensor))
        self._waits = waits and not SPECIAL and not (self._tracked and UNRECORDED)
        self._whole = self._waits and all(map(_is_plain, given))
        self._names = {id(one): f"given{k}" for k, one in enumerate(self._given) if isinstance(one, Tensor)}
        for k, one in enumerate(self._given):
            if isinstance(one, (list, tuple)):
                self._names |= {id(each): f"given{k}[{place}]" for place, each in enumerate(one)}
        self._held: list[Any] = list(given)
        self._lines: list[str] = []
        self._waiting: list[_Waiting] = []

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        """Return the one tensor that operator `name` returns. KeyError for no such operator."""
        return self.several(name, *args, **kwargs)  # type: ignore[no-any-return]

    def first(self, name: str, *args: Any) -> Tensor:
        """Return the first of the tensors that operator `name` returns. KeyError for no such operator."""
        return self.several(name, *args)[0]  # type: ignore[no-any-return]

    def several(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return what operator `name` returns. KeyError for no such operator."""
        if self._whole and self._tracked:
            call = kept_call(name)
            result, binding = call(*args, **kwargs), getattr(call, "binding", None)
            entry = binding and binding.entry(args, kwargs)
            entered = self._call(entry.call, entry.values, {}) if entry else ""
            return self._noted(call, args, kwargs, result, entered=entered)
        operator = REGISTRY.find(name)
        kernel = plain_kernel(operator, args, kwargs) if self._waits and not self._tracked else None
        if kernel is None:
            self._finish()
            self._whole = False
            return invoke(name, *args, **kwargs)
        if name == "to.dtype" and len(args) == 2 and args[0].meta.dtype is args[1] and not kwargs:
            return args[0]
        if name == "reshape" and not args[0].meta.contiguous:
            meta, sizes = args[0].meta, inferred_sizes("reshape", args[1], args[0].meta.numel)
            if view_strides(meta.sizes, meta.strides, sizes) is None:
                return self("view", self("contiguous", args[0]), sizes)
        if name == "contiguous" and not args[0].meta.contiguous and len(args) == 1 and not kwargs:
            return self("clone", args[0], memory_format=contiguous_format)
        if not isinstance(kernel, Plannable):
            if name not in VIEWS or (name in MAY_COPY and not args[0].meta.contiguous):
                self._finish_what(operator, args, kwargs)
            result = kernel(*args, **kwargs)
            if name in VIEWS and result is args[0]:
                return result
            is_view = name in VIEWS and name != "as_strided" and isinstance(result, (Tensor, tuple))
            made = view_call(args[0], result) if is_view else None
            if made is None:
                return self._noted(kernel, args, kwargs, result)
            parts = (result,) if isinstance(result, Tensor) else result[:1]
            resized = any(one.meta.dtype.itemsize != args[0].meta.dtype.itemsize for one in parts)
            return self._noted(made, args[:1], {}, result, declines=resized)
        self._finish_what(operator, args, kwargs)
        found = kernel.planned(*args, **kwargs)
        if found.call is None:
            return self._wait(found, args, self._noted(kernel, args, kwargs, found.outline()))
        return self._planned(found, _taken(operator, args, kwargs))

    def run(self, function: Callable[..., R], *args: Any) -> R:
        """Return the result of a function and note the call. It may read values of tensors only to raise errors."""
        self._finish()
        result = function(*args)
        self._noted(function, args, {}, result)
        return result

    def check(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function that reads values to raise errors for what a later part declines. It is not noted."""
        self._finish(*args)
        function(*args)

    def plan(self, function: Plannable[Q, R], *args: Q.args, **kwargs: Q.kwargs) -> R:
        """Return the result of a plannable function and note the call that it plans."""
        self._finish(*args, *kwargs.values())
        found = function.planned(*args, **kwargs)
        self._whole = self._whole and not self._tracked
        result: R = self._planned(found, [one for one in args if isinstance(one, Tensor)])
        return result

    def constant(self, tensor: Tensor) -> Tensor:
        """Return the tensor, noted as a constant: it must depend on metas and plain arguments alone."""
        if self._whole:
            self._names.setdefault(id(tensor), self._constant(tensor))
        return tensor

    def new(self, meta: TensorMeta) -> Tensor:
        """Return a new tensor of a meta, contents undefined."""
        return self._noted(Fresh(nothing, (meta,), ()).native(), (), {}, new_like(meta))  # type: ignore[no-any-return]

    def fresh(self, call: Fresh, *args: Any) -> Any:
        """Return the result of a bound call and note it."""
        return self._planned(Planned.unrun(call, args, call.native(), args), ())

    def launch(self, launch: Launch, tensors: Sequence[Tensor], numbers: Sequence[float] = ()) -> None:
        """Run a loop and note it. Tensors that it writes come first, numbers last."""
        self._finish()
        launch.run([*[one.pointer for one in tensors], *numbers])
        if self._whole:
            builtin, tail = launch.call()
            passed = [*[f"{self._source(one)}.pointer" for one in tensors], *map(self._constant, numbers)]
            self._lines.append(f"    {self._constant(builtin)}({', '.join(passed)}, *{self._constant(tail)})\n")

    def _planned(self, found: Planned[Any], all_operands: Sequence[Any]) -> Any:
        operands = all_operands if found.operands is None else found.operands
        self._whole = self._whole and found.call is not None
        call = found.call or nothing  # which is not noted
        return self._wait(found, operands, self._noted(call, operands, {}, found.outline(), declines=True))

    def _wait(self, found: Planned[Any], operands: Sequence[Any], outline: Any) -> Any:
        """Return the result of a part, noted last, which is computed later if parts wait."""
        if not self._waits:
            return found.result
        if found.waits:
            results = outline if isinstance(outline, tuple) else (outline,)
            self._waiting.append(_Waiting(found, results, len(self._lines) - 1, operands))
        return outline

    def _finish_what(self, operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Compute the parts that an operator reads, or all if it writes."""
        writes = any(one.written for one in operator.schema.arguments)
        self._finish(*([] if writes else [*args, *kwargs.values()]))

    def _finish(self, *read: Any) -> None:
        """Compute the parts that wait, up to the last with results on the memory of what is read, if that is given."""
        storages = [one.storage_impl for one in _flat(read) if isinstance(one, Tensor)]
        count = len(self._waiting)
        while read and count and not any(one.storage_impl in storages for one in self._waiting[count - 1].results):
            count -= 1
        for waiting in self._waiting[:count]:
            _ = waiting.plan.result
        del self._waiting[:count]

    def _noted(
        self, call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any, *,
        declines: bool = False, entered: str = "",
    ) -> Any:  # fmt: skip
        """Note a call. `entered` is the source of a faster call that may decline it by returning None."""
        if not self._whole:
            return result
        made = f"made{len(self._lines)}"
        line = f"    {made} = {self._call(call, args, kwargs)}\n"
        if entered:
            line = f"    {made} = {entered}\n    if {made} is None:\n    {line}"
        several = isinstance(result, (list, tuple))
        results = {f"{made}[{k}]" if several else made: one for k, one in enumerate(result if several else [result])}
        tensors = {name: one for name, one in results.items() if isinstance(one, Tensor)}
        # What machine code makes is always alike; the default dtype may change what other calls return.
        fixed = isinstance(getattr(call, "__self__", call), (Fresh, Into, View))
        alike = [f"{name}.meta is not {self._constant(one.meta)}" for name, one in tensors.items() if not fixed]
        tests = " or ".join([*([f"{made} is None"] if declines else []), *alike])
        self._lines.append(line + (f"    if {tests}:\n        return None\n" if tests else ""))
        self._held.append(result)
        for name, one in tensors.items():
            self._names.setdefault(id(one), name)
        return result

    def _call(self, call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        """Return the source of a call."""
        options = [f"{name}={self._source(value)}" for name, value in kwargs.items()]
        return f"{self._constant(call)}({', '.join([*map(self._source, args), *options])})"

    def _constant(self, value: Any) -> str:
        self._held.append(tuple(value) if value.__class__ is list else value)
        return f"held[{len(self._held) - 1}]"

    def _source(self, value: Any) -> str:
        """Return the source of an argument: the name of a tensor that is given or made, else a constant."""
        if isinstance(value, Tensor):
            self._whole = self._whole and id(value) in self._names
            return self._names.get(id(value), "")
        return f"({''.join([self._source(one) + ', ' for one in value])})" if _tensors(value) else self._constant(value)

    def planned(self, result: R) -> Planned[R]:
        """Return the kernel's result with the call that makes it; without one if a part of it has none."""
        source, results = self._source(result), result if isinstance(result, tuple) else (result,)
        named = isinstance(result, tuple) and hasattr(result, "_fields")
        kind: Any = type(result) if named else None
        plan: Planned[R] = Planned(result, None)
        last = self._last(results)
        if last is None:
            self._finish()
        else:
            values = [value for part in self._waiting for value in part.plan.values]
            plan = Planned.unrun(last, values, None, None, kind=kind, outline=result)
        if self._whole:
            source = f"{self._constant(kind)}{source}" if named else source
            plan.call, plan.operands = self._function([], self._lines, f"    return {source}\n"), tuple(self._given)
        return plan

    def _last(self, results: Sequence[Any]) -> _Last | None:
        """Return the computation of the kernel's results by the parts that wait; None if it is not theirs alone."""
        places: list[list[int | None]] = []
        for part in self._waiting:
            shown = [[place for place, one in enumerate(results) if _shows(one, made)] for made in part.results]
            places.append([found[0] if found else None for found in shown])
        whole = sorted(place for taken in places for place in taken if place is not None) == [*range(len(results))]
        return _Last(tuple([one.meta for one in results]), self._waiting, places, self) if whole else None

    def writer(self, last: _Last) -> Callable[..., Any] | None:
        """Return the call that writes the results of the kernel into tensors given first; None if there is none."""
        lines, outs = list(self._lines), [f"out{place}" for place in range(len(last.metas))]
        for part, taken in zip(last.parts, last.places, strict=True):
            if all(place is None for place in taken):
                continue
            write = part.plan.writer()
            if write is None or not self._whole:
                return None
            made = f"made{part.line}"
            new = [self._constant(Fresh(nothing, (one.meta,), ()).native()) for one in part.results]
            into = [f"{new[k]}()" if place is None else outs[place] for k, place in enumerate(taken)]
            given = ", ".join([f"*{made}" if len(into) > 1 else made, *map(self._source, part.operands)])
            lines[part.line] = (
                f"    {made} = {', '.join(into)}\n    if {self._constant(write)}({given}) is None:\n"
                f"        return None\n"
            )
        given = "".join([f"given{k}, " for k, one in enumerate(self._given) if not isinstance(one, NUMBERS)])
        lines.insert(0, f"    if {self._constant(meet)}(({', '.join(outs)},), ({given})):\n        return None\n")
        return self._function(outs, lines, "    return out0\n")

    def _function(self, outs: Sequence[str], lines: Sequence[str], returns: str) -> Callable[..., Any]:
        """Return the function of tensors to write and of what was given that runs the lines."""
        given = [f"given{k}" for k in range(len(self._given))]
        checks = [self._check(f"given{k}", one) for k, one in enumerate(self._given) if isinstance(one, NUMBERS)]
        if self._tracked:  # where a thread records nothing, results have other metas
            checks.append("    if UNRECORDED:\n        return None\n")
        text = f"def run({', '.join([*outs, *given])}):\n{''.join([*checks, *lines])}{returns}"
        # What is held for this call alone, its tensors among it, is not kept.
        held = [value if f"held[{k}]" in text else None for k, value in enumerate(self._held)]
        space: dict[str, Any] = {"held": held, "UNRECORDED": UNRECORDED}
        exec(_code(text), space)
        made: Callable[..., Any] = space["run"]
        return made

    def _check(self, name: str, number: Any) -> str:
        """Return the source of a test that a number has not changed, nor the sign of a zero."""
        same = f"{name} == {self._constant(number)} and ({name}.__class__ is int or repr({name}) == {repr(number)!r})"
        return f"    if not ({same}):\n        return None\n"


class _Last(NamedTuple):
    """The computation of the results of a kernel by its last parts, each with the places of its results among them."""

    metas: tuple[TensorMeta, ...]
    parts: Sequence[_Waiting]
    places: Sequence[Sequence[int | None]]
    part: Part

    def write(self, outs: Sequence[Tensor], values: Sequence[Any]) -> bool:
        """Compute the parts, into the tensors where they make results of the kernel."""
        moved: dict[int, Tensor] = {}
        for one in self.parts:
            one.plan.check()
        for one, taken in zip(self.parts, self.places, strict=True):
            into = list[Tensor]()
            for made, place in zip(one.results, taken, strict=True):
                into.append(made if place is None else _seen_as(made, outs[place]))
            one.plan.compute(into, [_moved(value, moved) for value in one.plan.values])
            moved |= {id(made.storage_impl): out for made, out in zip(one.results, into, strict=True)}
        return True

    def writer(self, check: Callable[..., object]) -> Callable[..., Any] | None:
        """Return the call that writes into tensors given before the values, if there is one."""
        return self.part.writer(self)


def _moved(value: Any, moved: Mapping[int, Tensor]) -> Any:
    """Return the elements of a part's result, which has been written elsewhere, in the sizes and strides of a view."""
    if not isinstance(value, Tensor) or id(value.storage_impl) not in moved:
        return value
    return _seen_as(value, moved[id(value.storage_impl)])


def _shows(one: Any, made: Tensor) -> bool:
    """Return whether something is a tensor, or a view of all its elements."""
    if one is made or not isinstance(one, Tensor):
        return one is made
    mine, theirs = one.meta, made.meta
    whole = mine.dense and theirs.dense and mine.numel == theirs.numel and one.offset == made.offset
    return whole and one.storage_impl is made.storage_impl and mine.dtype is theirs.dtype and mine.lazy == theirs.lazy


def _seen_as(made: Tensor, out: Tensor) -> Tensor:
    """Return the elements of `out` in the sizes and strides of another tensor."""
    return out if out.meta is made.meta else make_tensor(made.meta, out.storage_impl, out.offset + made.offset, None)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values, and those in lists and tuples."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value)


def _is_plain(value: Any) -> bool:
    """Return whether a call that gets a value can be noted: no tensor of a subclass, nothing lazy."""
    if isinstance(value, Tensor):
        return value.__class__ is Tensor and not value.meta.lazy
    return not _tensors(value) or all(one.__class__ is Tensor and not one.meta.lazy for one in value)


def _taken(operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the tensors and numbers of a call in the order of the schema; UNSET for those that are left out."""
    given = {one.name: value for one, value in zip(operator.schema.positional, args, strict=False)} | dict(kwargs)
    taken = [one.name for one in operator.schema.arguments if one.base_type in ("Tensor", "Scalar", "float")]
    return tuple([given.get(name, UNSET) for name in taken])


@functools.lru_cache(maxsize=1024)
def _code(text: str) -> Any:
    return compile(text, "<gaugeblock composition>", "exec")


class Composite(Plannable[P, R]):
    """A kernel in two forms: `plan` notes its parts while it runs, `plain` only runs."""

    def __init__(self, plan: Callable[P, R | Planned[R]], plain: Callable[P, R]) -> None:
        super().__init__(plan)
        self.plain = plain

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.plain(*args, **kwargs)

    def wrapped(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Plannable[P, R]:
        """Return the kernel that plans and runs in a wrapper."""
        return Composite(wrapper(self.__wrapped__), wrapper(self.plain))


def _unpacked(value: Any) -> Any:
    """Return a tensor without the Autograd key in place of one with it, also in a list."""
    if _tensors(value):
        return [*map(_unpacked, value)]
    if not isinstance(value, Tensor) or not value.meta.has_autograd:
        return value
    return detach(value) if value.autograd is None else value.autograd.plain


def _is_noted(value: Any) -> bool:
    """Return whether an argument of a kernel is a tensor, a list of them or a number, which its noted call takes."""
    return isinstance(value, (Tensor, float, complex)) or value.__class__ is int or _tensors(value)


NUMBERS = (int, float, complex)


class Unrecorded(Generic[R]):
    """A composite kernel for tensors with the Autograd key under no_grad. If its first call returns new tensors only,
    later calls run on plain tensors and note their parts."""

    def __init__(self, kernel: Composite[..., R]) -> None:
        self._plan, self._plain = kernel.planned, kernel.plain
        self._noted: Callable[..., Any] | None = None
        self._places: list[int] = []
        self._is_fresh: bool | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if STATE.grad or IN_PYTHON or not self._is_fresh:
            result = self._plain(*args, **kwargs)
            if self._is_fresh is None:
                self._is_fresh = all(  # tensors, no views, and none that was given
                    isinstance(one, Tensor) and one.base is None and all(one is not other for other in given)
                    for one in (result if isinstance(result, tuple) else (result,))
                )
            return result
        made = None if self._noted is None else self._noted(*[_unpacked(given[place]) for place in self._places])
        if made is not None:
            return made
        options = {name: _unpacked(value) for name, value in kwargs.items()}
        found: Any = self._plan(*map(_unpacked, args), **options)
        self._places = [place for place, one in enumerate(given) if _is_noted(one)]  # before another thread calls
        self._noted = found.call
        return found.result


UNNOTED = Part((), waits=False)
"""Runs operators and notes nothing."""


def composite(function: Callable[Concatenate[Part, P], R]) -> Plannable[P, R]:
    """Make a kernel of a function that runs operators through its first argument."""

    @functools.wraps(function)
    def plan(*args: P.args, **kwargs: P.kwargs) -> Planned[R]:
        part = Part((*args, *kwargs.values()))
        return part.planned(function(part, *args, **kwargs))

    @functools.wraps(function)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(UNNOTED, *args, **kwargs)

    return Composite(plan, plain)
