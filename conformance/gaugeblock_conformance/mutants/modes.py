"""Modes, wrappers and devices that see too much, too little, or the wrong thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend_dispatch import Mode, Thread
from .mutant import Intercepted, rows
from .patches import accepts, raises

_FACTORIES = ("zeros", "ones", "empty")


def _log(change: Callable[[list[str]], list[str]]) -> Callable[[Intercepted], Any]:
    """The log with what modes wrote into it passed through ``change``; kernels keep their places."""

    def patch(c: Intercepted) -> Any:
        entries = c.right()
        modes = [entry for entry in entries if " " in entry and entry.split(" ")[0][0] in "mio"]
        if not modes:
            return entries
        others = [entry for entry in entries if entry not in modes]
        return (*change(modes), *others)

    return patch


def _modes_of(contexts: tuple[Any, ...]) -> tuple[Mode, ...]:
    return tuple(context for context in contexts if isinstance(context, Mode))


def _outer_first(c: Intercepted) -> Any:
    contexts, *rest = c.args
    modes = iter(reversed(_modes_of(contexts)))
    return c.do("within", tuple(next(modes) if isinstance(k, Mode) else k for k in contexts), *rest, **c.kwargs)


def _result_ignored(c: Intercepted) -> Any:
    """The kernel runs, and its result stands, whatever a mode answers."""
    contexts, *rest = c.args
    modes = _modes_of(contexts)
    if not modes or any(mode.action == "raise" for mode in modes):
        return c.right()
    return c.do("within", tuple(Mode(k.label) if isinstance(k, Mode) else k for k in contexts), *rest, **c.kwargs)


def _sees_metadata(c: Intercepted) -> Any:
    contexts, operator, *rest = c.args
    if _modes_of(contexts) and operator in ("shape", "stride", "numel", "dim"):
        c.do("within", contexts, "neg", *rest[:1])
    return c.right()


def _sees_threads(c: Intercepted) -> Any:
    contexts, *rest = c.args
    if not any(isinstance(context, Thread) for context in contexts):
        return c.right()
    ordered = tuple(sorted(contexts, key=lambda context: not isinstance(context, Thread)))
    return c.do("within", ordered, *rest, **c.kwargs)


def _sees_itself(c: Intercepted) -> Any:
    """What the handler of a mode calls comes to the mode again."""
    contexts = c.args[0]
    doubling = [k for k in contexts if isinstance(k, Mode) and k.action == "double"]
    result = c.right()
    if doubling and len(contexts) == 1:
        c.do("within", (Mode(doubling[0].label),), "add.Tensor", result, result)
    return result


def _outlives_exceptions(c: Intercepted) -> Any:
    """A mode whose block was left by an exception stays."""
    if c.operator == "release_operators":
        c.memory.pop("stuck", None)
        return c.right()
    if c.operator != "within":
        mode = c.memory.get("stuck")
        return c.do("within", (mode,), c.operator, *c.args) if mode else c.right()
    try:
        return c.right()
    except Exception:
        modes = _modes_of(c.args[0])
        if modes:
            c.memory["stuck"] = Mode(modes[0].label)
        raise


def _swallowed(c: Intercepted) -> Any:
    """An exception of a mode is not told."""
    tensors = [a for a in c.args if c.is_tensor(a)]
    return tensors[0] if tensors else None


def _unwrapped(c: Intercepted) -> Any:
    result, _ = c.right()
    return result, "bare"


def _base_first(c: Intercepted) -> Any:
    operator, labels, *rest = c.args
    if len(labels) == 2 and "(" in labels[1]:
        return c.do("on_ducks", operator, (labels[0], labels[1].partition("(")[0]), *rest)
    return c.right()


def _last_asked(c: Intercepted) -> Any:
    operator, labels, *rest = c.args
    if any("(" in label for label in labels):
        return c.right()
    return c.do("on_ducks", operator, tuple(reversed(labels)), *rest)


def _lists_are_not_searched(c: Intercepted) -> Any:
    if any(isinstance(a, list | tuple) for a in c.args[2:]):
        return c.refuse(TypeError, "expected a tensor")
    return c.right()


def _declined(c: Intercepted) -> Any:
    return NotImplemented


def _meta_result(c: Intercepted) -> Any:
    """Tensors of several devices meet on the meta device."""

    def moved(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [moved(v) for v in value]
        if not c.is_tensor(value):
            return value
        return c.do("empty.memory_format", tuple(c.backend.shape(value)), device="meta")

    try:
        return c.do(c.operator, *moved(c.args))
    except Exception:
        return c.refuse(RuntimeError, "bad operands")


def _scalar_refused(c: Intercepted) -> Any:
    tensors = [a for a in c.args if c.is_tensor(a)]
    devices = {str(c.do("__getattr__", a, "device")) for a in tensors}
    return c.refuse(RuntimeError, "mixed devices") if len(devices) > 1 else c.right()


def _scalar_decides(c: Intercepted) -> Any:
    """The result is on the device of the first tensor, without dims or not."""
    tensors = [a for a in c.args if c.is_tensor(a)]
    result = c.right()
    if len(tensors) == 2 and not c.backend.shape(tensors[0]) and c.is_tensor(result):
        sizes = tuple(c.backend.shape(result))
        if str(c.do("__getattr__", tensors[0], "device")) == "cpu" != str(c.do("__getattr__", result, "device")):
            return c.tensor(np.zeros(sizes, np.float32))
    return result


def _nowhere(c: Intercepted) -> Any:
    """A device that does not exist is taken to be the default one."""
    return c.do(c.operator, *c.args, **{name: value for name, value in c.kwargs.items() if name != "device"})


def _device_ignored(c: Intercepted) -> Any:
    rest = {name: value for name, value in c.kwargs.items() if name != "device"}
    return c.do(c.operator, *c.args, **rest) if c.kwargs.get("device") == "meta" else c.right()


def _double_by_default(c: Intercepted) -> Any:
    from ..backend import DType

    return c.right() if "dtype" in c.kwargs else c.do(c.operator, *c.args, **c.kwargs, dtype=DType("float64"))


def _always_copies(c: Intercepted) -> Any:
    result = c.right()
    return c.do("clone", result) if result is c.args[0] else result


def _never_copies(c: Intercepted) -> Any:
    return c.do(c.operator, *c.args, **{name: value for name, value in c.kwargs.items() if name != "copy"})


def _settable(c: Intercepted) -> Any:
    """An assignment to a dtype or a device is forgotten."""
    return None


def _unnamed(c: Intercepted) -> Any:
    """An absent device type cannot be named."""
    c.right()
    if str(c.args[0]).partition(":")[0] not in ("cpu", "meta"):
        c.refuse(RuntimeError, f"unknown device {c.args[0]}")
    return c.right()


def _quietly_here(c: Intercepted) -> Any:
    """A tensor requested on an absent device is created on the present one."""
    if c.kwargs.get("device") in (None, "cpu", "meta"):
        return c.right()
    c.do("device", c.kwargs["device"])
    return c.do(c.operator, *c.args, **{k: v for k, v in c.kwargs.items() if k != "device"})


def _few_options(c: Intercepted) -> Any:
    """Calls with a layout support only float32."""
    if c.kwargs.get("layout") is not None and c.kwargs.get("dtype") != "float32":
        c.refuse(RuntimeError, "not supported")
    return c.right()


def _unfilled(c: Intercepted) -> Any:
    """A factory that is given a layout does not fill its result."""
    result = c.right()
    if c.kwargs.get("layout") == "strided" and c.kwargs.get("device") == c.backend.device and c.has_data:
        c.put(result, np.full(c.backend.shape(result), 7).astype(c.array(result).dtype))
    return result


MUTANTS = rows(
    "dispatcher",
    ("mode-misses-calls", "dispatch/mode-sees-every-call-in-order", ("dispatch_log",),
     _log(lambda modes: modes[1:] if len(modes) > 1 else modes)),
    ("mode-sees-calls-twice", "dispatch/mode-sees-every-call-in-order", ("dispatch_log",),
     _log(lambda modes: [m for m in modes for _ in range(2)])),
    ("mode-sees-calls-in-reverse", "dispatch/mode-sees-every-call-in-order", ("dispatch_log",),
     _log(lambda modes: modes[::-1])),
    ("mode-sees-no-overloads", "dispatch/mode-sees-every-call-in-order", ("dispatch_log",),
     _log(lambda modes: [m.split(".")[0] for m in modes])),
    ("outer-mode-is-first", "dispatch/inner-mode-sees-a-call-first", ("within",), _outer_first),
    ("result-of-a-mode-is-ignored", "dispatch/mode-decides-the-result", ("within",), _result_ignored),
    ("mode-sees-metadata-queries", "dispatch/metadata-queries-are-not-dispatched", ("within",), _sees_metadata),
    ("mode-sees-other-threads", "dispatch/mode-belongs-to-its-thread", ("within",), _sees_threads),
    ("mode-sees-its-own-calls", "dispatch/mode-does-not-see-its-own-calls", ("within",), _sees_itself),
    ("mode-outlives-an-exception", "dispatch/mode-ends-with-its-block", ("within", "neg", "release_operators"),
     _outlives_exceptions),
    ("exception-of-a-mode-is-swallowed", "dispatch/mode-ends-with-its-block", ("within",),
     accepts(KeyError, _swallowed)),
    ("wrapper-gives-bare-results", "dispatch/wrapper-subclass-sees-every-call", ("on_wrappers",), _unwrapped),
    ("base-is-asked-before-its-subclass", "dispatch/subclass-of-a-class-is-asked-first", ("on_ducks",), _base_first),
    ("last-argument-is-asked-first", "dispatch/subclass-of-a-class-is-asked-first", ("on_ducks",), _last_asked),
    ("lists-are-not-searched-for-wrappers", "dispatch/foreign-objects-intercept-operators", ("on_ducks",),
     _lists_are_not_searched),
    ("declined-by-all-is-silent", "dispatch/declined-by-all-raises", ("on_ducks",), accepts(TypeError, _declined)),
    ("mixed-devices-are-accepted", "dispatch/mixed-devices-raise[]", ("cat", "stack", "maximum", "gt", "eq", "mul"),
     accepts(RuntimeError, _meta_result)),
    ("mixed-devices-raise-type-errors", "dispatch/mixed-devices-raise[]", ("cat", "stack", "where"),
     raises(TypeError, RuntimeError)),
    ("scalar-tensor-of-another-device-is-refused", "dispatch/scalar-tensor-joins-any-device",
     ("add.Tensor", "mul.Tensor", "maximum", "gt.Tensor"), _scalar_refused),
    ("scalar-tensor-decides-the-device", "dispatch/scalar-tensor-joins-any-device",
     ("add.Tensor", "mul.Tensor", "maximum"), _scalar_decides),
    ("unknown-device-is-the-default", "dispatch/unknown-device-raises", _FACTORIES, accepts(RuntimeError, _nowhere)),
    ("factories-ignore-the-device", "dispatch/factories-follow-their-options", _FACTORIES, _device_ignored),
    ("factories-make-doubles", "dispatch/factories-follow-their-options", _FACTORIES, _double_by_default),
    ("to-always-copies", "dispatch/to-what-it-is-gives-itself", ("to",), _always_copies),
    ("to-never-copies", "dispatch/to-what-it-is-gives-itself storage/copying-operators-make-a-new-storage", ("to",),
     _never_copies),
    ("dtype-can-be-assigned", "dispatch/device-layout-and-dtype-are-read-only", ("__setattr__",),
     accepts(AttributeError, _settable)),
    ("unsupported-dtype-is-a-type-error", "dispatch/unsupported-dtype-raises[]",
     ("gcd", "lcm", "atan2", "hypot", "floor", "trunc", "erf", "lgamma"), raises(TypeError, NotImplementedError)),
    ("absent-devices-cannot-be-named", "dispatch/absent-device-raises-at-allocation", ("device",), _unnamed),
    ("absent-devices-give-way", "dispatch/absent-device-raises-at-allocation",
     ("full", "empty_strided", "arange", "tensor", "zeros_like"), _quietly_here),
    ("options-are-refused-without-a-word", "dispatch/every-option-triple-makes-a-tensor-or-raises", _FACTORIES,
     _few_options),
    ("factories-with-options-do-not-fill", "dispatch/every-option-triple-makes-a-tensor-or-raises", ("zeros", "ones"),
     _unfilled),
)
