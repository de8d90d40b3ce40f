"""Calls that test a dispatcher: those of the capabilities dispatch.*, wrapper, inference, vmap, autocast and
functionalize.

Nothing here names a backend's API. A backend with the capabilities answers the operator names of :data:`CALLS` in its
``call``; what its kernels, modes and wrappers did, it writes into one log, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .backend_autograd import Context as AutogradContext

NAMESPACE = "suite"


@dataclass(frozen=True)
class Kernel:
    """A kernel that the backend is to register: it writes ``label`` into the log (None: nothing) and does ``action``.

    ============ ==========================================================================================
    ``scale``    its first argument times ``argument``
    ``chain``    the unary operators named in ``argument``, one after another, on its first argument
    ``zeros``    a tensor of the sizes ``argument``, on the device of the kernel's key
    ``copies``   clones of its first argument, as many as ``argument``
    ``give``     ``argument`` itself
    ``first``    its first argument itself
    ``raise``    raises the builtin exception named by ``argument``, with its name as message
    ``below``    the same operator again, on the keys below the kernel's own
    ``select``   the same operator again, on the key of the device that is given as ``device=``
    ``keys``     writes the names of its keys, highest first, into the log, then as ``below``
    ``echo``     writes its arguments but the first into the log, then a clone of the first
    ``skip``     is no kernel: the key falls through
    ============ ==========================================================================================
    """

    label: str | None
    action: str
    argument: Any = None


@dataclass(frozen=True)
class Include:
    """The key counts for every call of this thread."""

    key: str


@dataclass(frozen=True)
class Exclude:
    """The key counts for no call of this thread."""

    key: str


@dataclass(frozen=True)
class Inference:
    """Inference mode."""


@dataclass(frozen=True)
class Thread:
    """Another thread."""


@dataclass(frozen=True)
class Mode:
    """A dispatch mode that writes ``label`` and the operator's name into the log, then does ``action``.

    ``forward``: the call as it is; ``double``: the call, its result added to itself; ``full``: a tensor of the number
    ``argument`` instead of the call; ``raise``: as for kernels.
    """

    label: str
    action: str = "forward"
    argument: Any = None


@dataclass(frozen=True)
class Autocast:
    """The casting mode of the backend's device, with products in the dtype called ``dtype``, or off."""

    dtype: str = "bfloat16"
    enabled: bool = True


@dataclass(frozen=True)
class Mapping:
    """One vmap: the dims of the arguments along which the examples lie, None for those that all examples share, that of
    the result, what random operators do, and how many examples are computed at once."""

    in_dims: tuple[int | None, ...]
    out_dims: int = 0
    randomness: str = "error"
    chunk_size: int | None = None


@dataclass(frozen=True)
class Slot:
    """A value of a program: an argument, by number, or behind these what its steps gave, one after the other."""

    number: int


@dataclass(frozen=True)
class Step:
    """A call of a program, some of whose arguments are values of the program."""

    operator: str
    args: tuple[Any, ...]


Context = Include | Exclude | Inference | Thread | Mode | Autocast | AutogradContext

PARTS = tuple(
    part.__name__ for part in (Kernel, Include, Exclude, Inference, Thread, Mode, Autocast, Mapping, Slot, Step)
)

CALLS: dict[str, str] = {
    "define_operator": "(schema) a new operator of namespace 'suite'",
    "register_kernel": "(operator, key, Kernel) for an operator of namespace 'suite'",
    "register_fallback": "(key, Kernel) for every operator without one for the key",
    "remove_kernel": "() takes away the kernel that was registered last",
    "release_operators": "() takes away all operators, kernels and fallbacks of the suite, and empties the log",
    "dispatch_log": "() -> tuple: the entries of the log, in order, which is empty afterwards",
    "dispatch_keys": "(tensor) -> tuple: the names of its keys, highest first",
    "thread_keys": "() -> (tuple, tuple): the keys that this thread includes and excludes, in order of the alphabet",
    "highest_key": "(*names) -> the key that decides in a set of these",
    "within": "(contexts, operator, *args, **kwargs) -> the call's answer, made with the contexts entered in order",
    "on_wrappers": "(operator, *args) -> the call's answer on wrappers of its tensors, and 'wrapped' or 'bare'",
    "on_ducks": "(operator, labels, *args) -> what labelled foreign objects, put for None in args, answer",
    "gradient_on_wrapper": "(x, factor) -> gradient of sum(x * factor) in a wrapper of x, and 'wrapped' or 'bare'",
    "mapped": "(operator, Mappings, *args, **kwargs) -> its answer under these vmaps, the outermost first",
    "functionalized": "(remove, Steps, *args) -> what the last step gives, without the writes, and views, to remove",
    "run_program": "(Steps, *args) -> what the last step gives",
    "register_derivative": "(operator, factor) for a unary operator: the incoming gradient times the factor",
}
"""Operator name -> its arguments and answer. Operators of the namespace itself are called as ``suite::name``."""


def is_dispatch_call(operator: str) -> bool:
    """Return whether the call is one of the table's or of an operator that the suite defined."""
    return operator in CALLS or "::" in operator
