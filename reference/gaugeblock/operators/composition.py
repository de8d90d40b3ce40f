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

So what the kernel does may depend on metas, plain arguments and numbers, but not on the values of tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from ..dispatch.dispatcher import REGISTRY, Operator, plain_kernel
from ..dispatch.state import IN_PYTHON, STATE
from ..kernels.bound_call import UNSET, Fresh, Into, View, nothing, view_call
from ..kernels.pointwise import Launch
from ..tensor.hooks import SPECIAL, UNRECORDED
from ..tensor.metadata import detach
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta
from ..tensor.view_table import VIEWS
from .copy import fresh_copy
from .invoke import invoke, kept_call
from .plan import Plannable, Planned

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class Part:
    """Runs operators for one kernel and notes their calls, as long as nothing but the call cache would see them."""

    __slots__ = ("_given", "_held", "_last", "_lines", "_names", "_tracked", "_whole")

    def __init__(self, given: Sequence[Any], *, whole: bool = True) -> None:
        self._given = [*filter(_is_noted, given)]
        self._tracked = any(one.meta.has_autograd for one in self._given if isinstance(one, Tensor))
        seen = SPECIAL or (self._tracked and UNRECORDED)
        self._whole = whole and not seen and all(map(_is_plain, given))
        self._names = {id(one): f"given{k}" for k, one in enumerate(self._given) if isinstance(one, Tensor)}
        self._held: list[Any] = list(given)
        self._lines: list[str] = []
        self._last: Planned[Any] | None = None

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        """Return the one tensor that operator `name` returns. KeyError for no such operator."""
        return self._result(name, args, kwargs)  # type: ignore[no-any-return]

    def first(self, name: str, *args: Any) -> Tensor:
        """Return the first of the tensors that operator `name` returns. KeyError for no such operator."""
        return self._result(name, args, {})[0]  # type: ignore[no-any-return]

    def _result(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._finish()
        if self._whole and self._tracked:
            call = kept_call(name)
            result, binding = call(*args, **kwargs), getattr(call, "binding", None)
            entry = binding and binding.entry(args, kwargs)
            entered = self._call(entry.call, entry.values, {}) if entry else ""
            return self._noted(call, args, kwargs, result, entered=entered)
        operator = REGISTRY.find(name)
        kernel = plain_kernel(operator, args, kwargs) if self._whole else None
        if kernel is None:
            self._whole = False
            return invoke(name, *args, **kwargs)
        if not isinstance(kernel, Plannable):
            result = kernel(*args, **kwargs)
            if name in VIEWS and result is args[0]:
                return result
            made = None
            if name in VIEWS and name != "as_strided" and isinstance(result, (Tensor, tuple)):
                made = view_call(args[0], result)
                if made is None and isinstance(result, Tensor):
                    made = fresh_copy(result, args[0])
            return self._noted(made or kernel, args[:1] if made else args, {} if made else kwargs, result)
        found = kernel.planned(*args, **kwargs)
        if found.call is None:
            return self._noted(kernel, args, kwargs, found.result)
        return self._planned(found, _taken(operator, args, kwargs))

    def run(self, function: Callable[..., R], *args: Any) -> R:
        """Return the result of a function and note the call. It may read values of tensors only to raise errors."""
        self._finish()
        result = function(*args)
        self._noted(function, args, {}, result)
        return result

    def plan(self, function: Plannable[Q, R], *args: Q.args, **kwargs: Q.kwargs) -> R:
        """Return the result of a plannable function and note the call that it plans."""
        self._finish()
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
        self._finish()
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
        if found.call is None or not self._whole:
            self._whole = False
            return found.result
        operands = all_operands if found.operands is None else found.operands
        self._last = found
        return self._noted(found.call, operands, {}, found.outline(), declines=True)

    def _finish(self) -> None:
        """Run the last part, if it has not run: it waits, since it may write the result straight into out=."""
        last, self._last = self._last, None
        if last is not None:
            _ = last.result

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
        self._held.append(value)
        return f"held[{len(self._held) - 1}]"

    def _source(self, value: Any) -> str:
        """Return the source of an argument: the name of a tensor that is given or made, else a constant."""
        if isinstance(value, Tensor):
            self._whole = self._whole and id(value) in self._names
            return self._names.get(id(value), "")
        if _tensors(value):
            return f"({''.join([self._source(one) + ', ' for one in value])})"
        return self._constant(value)

    def planned(self, result: R) -> Planned[R]:
        """Return the kernel's result with the call that makes it; without one if a part of it has none."""
        source, last = self._source(result), self._last
        if last is None or result is not last.outline():
            self._finish()
            last = Planned(result, None)
        if not self._whole:
            last.call = None
            return last
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            source = f"{self._constant(type(result))}{source}"
        given = [f"given{k}" for k in range(len(self._given))]
        checks = [self._check(f"given{k}", one) for k, one in enumerate(self._given) if not isinstance(one, Tensor)]
        if self._tracked:  # where a thread records nothing, results have other metas
            checks.append("    if UNRECORDED:\n        return None\n")
        text = f"def run({', '.join(given)}):\n{''.join([*checks, *self._lines])}    return {source}\n"
        # What is held for this call alone, its tensors among it, is not kept.
        held = [value if f"held[{k}]" in text else None for k, value in enumerate(self._held)]
        space: dict[str, Any] = {"held": held, "UNRECORDED": UNRECORDED}
        exec(_code(text), space)
        last.call, last.operands, last.generic = space["run"], tuple(self._given), False
        return last

    def _check(self, name: str, number: Any) -> str:
        """Return the source of a test that a number has not changed, nor the sign of a zero."""
        same = f"{name} == {self._constant(number)} and ({name}.__class__ is int or repr({name}) == {repr(number)!r})"
        return f"    if not ({same}):\n        return None\n"


def _tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(one, Tensor) for one in value)


def _is_plain(value: Any) -> bool:
    """Return whether a call that gets a value can be noted: no list of tensors, no subclass, nothing lazy."""
    if isinstance(value, Tensor):
        return value.__class__ is Tensor and not value.meta.lazy
    return not _tensors(value)


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
    """Return a tensor without the Autograd key in place of one with it."""
    if not isinstance(value, Tensor) or not value.meta.has_autograd:
        return value
    return detach(value) if value.autograd is None else value.autograd.plain


def _is_noted(value: Any) -> bool:
    """Return whether an argument of a kernel is a tensor or a number, which its noted call takes."""
    return isinstance(value, (Tensor, float, complex)) or value.__class__ is int


class Unrecorded(Generic[R]):
    """A composite kernel for tensors with the Autograd key under no_grad.

    If its first call returns new tensors only, later calls run on plain tensors and note their parts.
    """

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


UNNOTED = Part((), whole=False)
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
