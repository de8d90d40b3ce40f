"""The calls of :mod:`..backend_dispatch` for a module of torch's style: library, keys, modes, wrappers."""

from __future__ import annotations

import builtins
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from ..backend import Unsupported
from ..backend_dispatch import (
    CALLS,
    NAMESPACE,
    Autocast,
    Context,
    Exclude,
    Include,
    Inference,
    Kernel,
    Mapping,
    Mode,
    Slot,
    Step,
    Thread,
)
from .autograd_contexts import context_manager
from .dispatch_names import DispatchNames, names_of
from .dispatch_wrappers import Wrappers

Function = Callable[..., Any]


@dataclass(frozen=True)
class Trip:
    """One entry into a kernel: under which name and key it was registered, and what it was given."""

    operator: str
    key: str
    keys: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    argument: Any


# What stands before the name of a device's key in the names of its other keys.
_FUNCTIONALITIES = ("", "Autograd", "Autocast", "Sparse", "SparseCsr", "Quantized")


class Dispatching:
    """Answers the dispatcher's calls; ``call`` is the adapter's, ``device`` its device.

    The suite names the keys of the backend's own device as those of a cpu: ``CPU`` stands for ``PrivateUse1`` on a
    device that has this key. What a test asks of ``PrivateUse1`` beside ``CPU`` is then not offered.
    """

    def __init__(self, module: Any, device: str, call: Function) -> None:
        self.module = module
        self.device = device
        self.call = call
        self.log: list[str] = []
        self._libraries: list[Any] = []

    @cached_property
    def names(self) -> DispatchNames:
        return names_of(self.module)

    @cached_property
    def _renamed(self) -> dict[str, str]:
        own = self.names.device_key(self.device.partition(":")[0])
        pairs = [] if own == "CPU" else [(f"{kind}CPU", f"{kind}{own}") for kind in _FUNCTIONALITIES]
        return dict([*pairs, *((new, old) for old, new in pairs)])

    def _native(self, name: str) -> str:
        """Return the library's name of a key. Raises Unsupported for one that stands for the suite's ``CPU``."""
        native = self._renamed.get(name, name)
        if native != name and not name.endswith("CPU"):
            raise Unsupported(name, f"it is the key of {self.device}, which the suite calls {native}")
        return native

    def _key(self, name: str) -> Any:
        return self.names.key(self._native(name))

    def _names_in(self, keys: Any) -> tuple[str, ...]:
        """Names of the keys of a set, highest first."""
        found = reversed(re.findall(r"\w+", str(keys).partition("(")[2]))
        return tuple([self._renamed.get(name, name) for name in found])

    @cached_property
    def _wrappers(self) -> Wrappers:
        return Wrappers(self.module, self.log)

    def resolve(self, operator: str) -> Function:
        """The function behind ``operator``, a name of the table or ``namespace::base.overload``."""
        return getattr(self, operator) if operator in CALLS else self._registered(operator)

    def _registered(self, operator: str) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._operator(operator.partition("::")[2])(*args, **kwargs)

        return call

    def _operator(self, name: str) -> Any:
        found = getattr(self.names.operators, NAMESPACE)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def define_operator(self, schema: str) -> None:
        self._library(NAMESPACE, "FRAGMENT").define(schema)

    def register_kernel(self, operator: str, key: str, kernel: Kernel) -> None:
        library, native = self._library(NAMESPACE, "IMPL"), self._native(key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kernel.action == "skip":
                library.impl(operator, self.names.library.fallthrough_kernel, native)
            else:
                library.impl(operator, self._function(operator, key, kernel), native, with_keyset=True)

    def register_fallback(self, key: str, kernel: Kernel) -> None:
        def boxed(keys: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
            name = operator.name().removeprefix(f"{NAMESPACE}::")
            return self._function(name, key, kernel)(keys, *args, **kwargs)

        self._library("_", "IMPL").fallback(boxed, self._native(key), with_keyset=True)

    def remove_kernel(self) -> None:
        self._libraries.pop()._destroy()

    def release_operators(self) -> None:
        while self._libraries:
            self._libraries.pop()._destroy()
        self.log.clear()

    def _library(self, namespace: str, kind: str) -> Any:
        self._libraries.append(self.names.library.Library(namespace, kind))
        return self._libraries[-1]

    def register_derivative(self, operator: str, factor: float) -> None:
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * factor

        self.names.library.register_autograd(f"{NAMESPACE}::{operator}", backward, lib=self._libraries[-1])

    def dispatch_log(self) -> tuple[str, ...]:
        entries = tuple(self.log)
        self.log.clear()
        return entries

    def dispatch_keys(self, tensor: Any) -> tuple[str, ...]:
        return self._names_in(self.names.keys_of(tensor))

    def thread_keys(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        included, excluded = (self._names_in(keys()) for keys in (self.names.included, self.names.excluded))
        return tuple(sorted(included)), tuple(sorted(excluded))

    def highest_key(self, *names: str) -> str:
        found = self.names.key_set(self._key(names[0]))
        for name in names[1:]:
            found = found | self.names.key_set(self._key(name))
        name = str(found.highestPriorityTypeId()).rpartition(".")[2]
        return self._renamed.get(name, name)

    def within(self, contexts: Sequence[Context], operator: str, *args: Any, **kwargs: Any) -> Any:
        if not contexts:
            return self.call(operator, *args, **kwargs)
        first, rest = contexts[0], contexts[1:]
        if isinstance(first, Thread):
            return _in_thread(lambda: self.within(rest, operator, *args, **kwargs))
        with self._context(first):
            return self.within(rest, operator, *args, **kwargs)

    def _context(self, context: Context) -> AbstractContextManager[Any]:
        found: Any
        if isinstance(context, Include):
            found = self.names.include(self._key(context.key))
        elif isinstance(context, Exclude):
            found = self.names.exclude(self._key(context.key))
        elif isinstance(context, Inference):
            found = self.module.inference_mode()
        elif isinstance(context, Mode):
            found = self._mode(context)
        elif isinstance(context, Autocast):
            kind = self.device.partition(":")[0]
            found = self.module.autocast(kind, getattr(self.module, context.dtype), context.enabled)
        else:
            assert not isinstance(context, Thread)
            found = context_manager(self.module, context, self.log)
        return found  # type: ignore[no-any-return]

    def _mode(self, mode: Mode) -> Any:
        log, module = self.log, self.module
        base: Any = self.names.mode

        class Logging(base):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append(f"{mode.label} {func.name().removeprefix('aten::')}")
                if mode.action == "raise":
                    _raise(mode.argument)
                if mode.action == "full":
                    return module.full((1,), mode.argument)
                result = func(*args, **(kwargs or {}))
                return result + result if mode.action == "double" else result

        return Logging()

    def mapped(self, operator: str, levels: Sequence[Mapping], *args: Any, **kwargs: Any) -> Any:
        self.names.enable_transforms()
        function: Function = lambda *given: self.call(operator, *given, **kwargs)  # noqa: E731
        for level in reversed(levels):
            function = self.module.func.vmap(
                function, level.in_dims, level.out_dims, level.randomness, chunk_size=level.chunk_size
            )
        return function(*args)

    def run_program(self, steps: Sequence[Step], *args: Any) -> Any:
        values = list(args)
        for step in steps:
            given = [values[one.number] if isinstance(one, Slot) else one for one in step.args]
            values.append(self.call(step.operator, *given))
        return values[-1]

    def functionalized(self, remove: str, steps: Sequence[Step], *args: Any) -> Any:
        self.names.enable_transforms()
        return self.module.func.functionalize(lambda *given: self.run_program(steps, *given), remove=remove)(*args)

    def on_wrappers(self, operator: str, *args: Any) -> tuple[Any, ...]:
        return self._wrappers.call(lambda *wrapped: self.call(operator, *wrapped), args)

    def gradient_on_wrapper(self, x: Any, factor: float) -> tuple[Any, ...]:
        return self._wrappers.gradient(x, factor)

    def on_ducks(self, operator: str, labels: Sequence[str], *args: Any) -> Any:
        return self._wrappers.ducks(lambda *given: self.call(operator, *given), labels, args)

    def _function(self, operator: str, key: str, kernel: Kernel) -> Function:
        """The registered function: the keys of the call first, then its arguments."""
        action = _ACTIONS[kernel.action]

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if kernel.label is not None:
                self.log.append(kernel.label)
            return action(self, Trip(operator, key, keys, args, kwargs, kernel.argument))

        return run

    def redispatch(self, trip: Trip, keys: Any) -> Any:
        """The operator of the trip again, on ``keys``."""
        name = trip.operator if "." in trip.operator else f"{trip.operator}.default"
        return self._operator(name).redispatch(keys, *trip.args, **trip.kwargs)

    def below(self, trip: Trip) -> Any:
        own = self.names.key_set(self._key(trip.key)).raw_repr()
        lower = (1 << own.bit_length() - 1) - 1
        return self.redispatch(trip, type(trip.keys).from_raw_repr(trip.keys.raw_repr() & lower))

    def note_keys(self, trip: Trip) -> Any:
        self.log.append(" ".join(self._names_in(trip.keys)))
        return self.below(trip)

    def chain(self, trip: Trip) -> Any:
        result = trip.args[0]
        for name in trip.argument:
            result = self.call(name, result)
        return result

    def zeros(self, trip: Trip) -> Any:
        device = "meta" if "Meta" in trip.key else self.device
        return self.module.zeros(trip.argument, device=device)

    def select(self, trip: Trip) -> Any:
        wanted = trip.kwargs.get("device")
        key = "Meta" if wanted is not None and str(wanted) == "meta" else "CPU"
        return self.redispatch(trip, self.names.key_set(self._key(key)))

    def echo(self, trip: Trip) -> Any:
        given = (*trip.args[1:], *sorted(trip.kwargs.items()))
        self.log.append(repr(tuple(_listed(value) for value in given)))
        return trip.args[0].clone()


def _listed(value: Any) -> Any:
    """Sequences inside pairs as lists, whichever kind a binding makes of them."""
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value


def _raise(name: str) -> NoReturn:
    raise getattr(builtins, name)(f"{name} of the suite")


def _in_thread(action: Callable[[], Any]) -> Any:
    """The answer of ``action`` in a thread of its own; its exception is raised here."""
    outcome: list[Any] = [None, None]

    def run() -> None:
        try:
            outcome[0] = action()
        except Exception as error:
            outcome[1] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


_ACTIONS: dict[str, Callable[[Dispatching, Trip], Any]] = {
    "scale": lambda d, t: t.args[0] * t.argument,
    "chain": Dispatching.chain,
    "zeros": Dispatching.zeros,
    "copies": lambda d, t: [t.args[0].clone() for _ in range(t.argument)],
    "give": lambda d, t: t.argument,
    "first": lambda d, t: t.args[0],
    "raise": lambda d, t: _raise(t.argument),
    "below": Dispatching.below,
    "select": Dispatching.select,
    "keys": Dispatching.note_keys,
    "echo": Dispatching.echo,
}
