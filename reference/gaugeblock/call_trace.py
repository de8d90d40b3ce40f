"""explain: the trace of one call, from its arguments through the keys and kernels to the loop that ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .core.errors import type_error
from .core.tracing import TRACING
from .dispatch.dispatcher import REGISTRY, run_entry
from .dispatch.keys import DispatchKeySet, runtime_key, tensor_keys, tensors_in
from .dispatch.operator import Operator, Resolved
from .dispatch.state import STATE, enter_special, leave_special
from .dispatch.table import describe, origin
from .iteration.tensor_iterator import TensorIterator
from .kernels.isa import current_level
from .kernels.pointwise import Launch
from .tensor.tensor import Tensor
from .tensor.tensor_meta import TensorMeta


@dataclass
class Stop:
    """One entry of a trace: a heading, lines below it, and the entries inside (of a kernel that calls operators)."""

    heading: str
    lines: list[str] = field(default_factory=list)
    inside: list[Stop] = field(default_factory=list)

    def text(self, depth: int = 0) -> list[str]:
        """Return the lines, indented by depth."""
        margin = "  " * depth
        shown = [margin + self.heading, *(f"{margin}  {line}" for line in self.lines)]
        for stop in self.inside:
            shown += stop.text(depth + 1)
        return shown


@dataclass
class CallTrace:
    """What a call went through; `stops` are the operators it dispatched, `result` what it returned if it `finished`."""

    stops: list[Stop]
    result: Any = None
    finished: bool = True

    def __str__(self) -> str:
        lines = [line for stop in self.stops for line in stop.text()]
        if self.finished:
            lines.append(f"result: {shown(self.result)}")
        return "\n".join(lines)

    __repr__ = __str__


def shown(value: Any) -> str:
    """Return a value in one line: tensors by dtype, sizes, strides and device."""
    if isinstance(value, Tensor):
        meta = value.meta
        kind = "" if type(value) is Tensor else f"{type(value).__name__} "
        steps = "" if meta.contiguous else f" strides {list(meta.strides)}"
        return f"{kind}{meta.dtype.name}{list(meta.sizes)}{steps} on {meta.device}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(shown(part) for part in value)
        comma = "," if len(value) == 1 else ""
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{comma})"
    return repr(value)


class Recorder:
    """Notes every dispatch of this thread, and the plans and loops that its kernels work out."""

    def __init__(self) -> None:
        self.stops: list[Stop] = []
        self._open: list[Stop] = []
        self._plans: dict[int, tuple[TensorMeta, dict[Any, Any]]] = {}

    def dispatch(
        self, operator: Operator, mask: int, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Stands for the dispatcher's last step: note it, then run the kernel."""
        stop = Stop(operator.qualified_name)
        stop.lines += [f"arguments  {line}" for line in _arguments(operator, args, kwargs)]
        stop.lines += _keys(operator, mask, args, kwargs)
        (self._open[-1].inside if self._open else self.stops).append(stop)
        entered = Stop(
            f"kernel     {runtime_key(found.mask)}: {describe(found.entry)} {origin(found.entry.function)}".rstrip()
        )
        stop.inside.append(entered)
        self._forget_plans((*args, *kwargs.values()))
        self._open.append(entered)
        try:
            return run_entry(operator, found, args, kwargs)
        except Exception as error:
            entered.lines.append(f"raised     {type(error).__name__}: {str(error).splitlines()[0]}")
            raise
        finally:
            self._open.pop()

    def _forget_plans(self, values: tuple[Any, ...]) -> None:
        """Let kernels work out again what they remember for these tensors, so that it can be seen."""
        for one in tensors_in(values):
            if id(one.meta) not in self._plans:
                self._plans[id(one.meta)] = (one.meta, one.meta.plans)
                one.meta.plans = {}

    def restore_plans(self) -> None:
        """Put back what the metas remembered."""
        for meta, plans in self._plans.values():
            meta.plans = plans

    def planned(self, what: str, thing: Any) -> None:
        """Note an iteration plan or a loop under the kernel that made it."""
        if not self._open:
            return
        lines = self._open[-1].lines
        if isinstance(thing, TensorIterator):
            lines += [f"iteration  {line}" for line in thing.explain().splitlines()]
        elif isinstance(thing, Launch):
            lines.append(f"loop       {_loop(thing)}")
        elif what == "reduction":
            kernel, kept, inner = thing
            lines.append(
                f"loop       reduction {kernel.name}: {list(inner)} elements for each of {list(kept)} results, "
                f"instruction set {current_level().name}"
            )


def _loop(launch: Launch) -> str:
    kernel = getattr(launch.kernel, "title", type(launch.kernel).__name__)
    if launch.contiguous:
        form = f"contiguous, one run of {launch.count} elements"
    elif launch.in_blocks() is not None:
        form = f"in blocks, over {list(launch.shape)} (innermost first): a dim of few adjacent elements is one of them"
    elif launch.apart is not None:
        form = f"tiled, over {list(launch.shape)} (innermost first): operands that lie apart go through buffers"
    else:
        form = f"strided, over {list(launch.shape)} (innermost first)"
    return f"{kernel}: {form}, instruction set {current_level().name}"


def _arguments(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    given = operator.by_name(args, kwargs)
    lines = [f"{name} = {shown(value)}" for name, value in given.items()]
    for argument in operator.schema.arguments:
        if argument.name not in given and argument.default is not None:
            lines.append(f"{argument.name} = {argument.default} (default)")
    return lines


def _keys(operator: Operator, mask: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    own = DispatchKeySet(mask=tensor_keys((*args, *kwargs.values())))
    lines = [
        f"keys       of the arguments: {', '.join(own) or 'none'}",
        f"           with this thread's: {', '.join(DispatchKeySet(mask=mask))}",
    ]
    remaining = mask
    while True:
        key = runtime_key(remaining)
        entry = REGISTRY.lookup(operator, key)
        lines.append(f"           {key}: {entry.label}")
        if not entry.fallthrough:
            return lines
        remaining &= ~(1 << (remaining.bit_length() - 1))


def explain(call: Callable[..., Any] | str, *args: Any, **kwargs: Any) -> CallTrace:
    """Run a call and return its trace: arguments parsed, keys, kernels entered, iteration plans, loops chosen.

        print(gb.explain(lambda: a + b))
        print(gb.explain("add.Tensor", a, b, alpha=2))

    `call` is a function to be called with the arguments, or an operator's name. Raises TypeError for anything else,
    RuntimeError for an unknown operator, and whatever the call raises, the trace so far as a note on the exception.
    """
    if isinstance(call, str):
        from .library.op_overload import find_overload

        call = find_overload(call)
    if not callable(call):
        type_error("explain", "call", call, "a callable or an operator's name")
    recorder = Recorder()
    before = STATE.trace, TRACING.hook
    STATE.trace, TRACING.hook = recorder.dispatch, recorder.planned
    enter_special()
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        error.add_note(str(CallTrace(recorder.stops, finished=False)))
        raise
    finally:
        leave_special()
        STATE.trace, TRACING.hook = before
        recorder.restore_plans()
    return CallTrace(recorder.stops, result)
