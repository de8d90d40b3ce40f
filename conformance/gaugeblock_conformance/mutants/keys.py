"""Keys, threads, devices and modes: kernels that are entered for the wrong reason or not at all."""

from __future__ import annotations

from typing import Any

from ..backend_dispatch import Mode
from .mutant import Intercepted, rows
from .patches import accepts

_DECLARED = ("gcd", "bitwise_and", "erf", "floor", "atan2", "lgamma")
_CROSSED = ("mm", "matmul", "bmm", "addmm", "mv", "dot", "index_select", "gather", "take")


def _keys_of_a_copy(c: Intercepted) -> Any:
    """A tensor made in inference mode has the keys that a copy of it has."""
    x = c.args[0]
    return c.do("dispatch_keys", c.do("clone", x)) if c.do("is_inference", x) else c.right()


def _autocast_on(c: Intercepted) -> Any:
    result = c.right()
    if c.operator == "within" and c.args[1] != "thread_keys":
        return result
    included, excluded = result
    return included, tuple(key for key in excluded if not key.startswith("Autocast"))


def _only_floats(c: Intercepted) -> Any:
    """Calls on other dtypes than float32 are refused before a kernel is entered."""
    if any(c.is_tensor(x) and c.backend.dtype(x) != "float32" for x in c.args):
        c.refuse(NotImplementedError, "no kernel for the dtype")
    return c.right()


def _never_autograd(c: Intercepted) -> Any:
    """A kernel for an Autograd key is never entered."""
    return None if c.args[1].startswith("Autograd") else c.right()


def _first(c: Intercepted) -> Any:
    return next(x for x in c.args if c.is_tensor(x))


def _unseen(c: Intercepted) -> Any:
    """Modes are off while a backward pass runs."""
    contexts, operator, *rest = c.args
    if operator != "backward":
        return c.right()
    return c.do("within", tuple(k for k in contexts if not isinstance(k, Mode)), operator, *rest, **c.kwargs)


MUTANTS = rows(
    "dispatcher",
    ("inference-tensors-have-the-keys-of-copies", "dispatch/inference-tensors-have-no-autograd-key",
     ("dispatch_keys",), _keys_of_a_copy),
    ("threads-start-with-autocast", "dispatch/threads-start-without-autocast", ("thread_keys", "within"), _autocast_on),
    ("dtype-comes-before-the-device", "dispatch/device-comes-before-dtype", ("suite::",), _only_floats),
    ("autograd-kernels-are-passed-over", "dispatch/autograd-kernel-runs-before-the-backend-kernel",
     ("register_kernel",), _never_autograd),
    ("undeclared-dtypes-are-taken", "dispatch/kernels-declare-their-dtypes[]", _DECLARED,
     accepts(NotImplementedError, _first)),
    ("products-and-reads-join-devices", "dispatch/products-and-index-reads-check-devices[]", _CROSSED,
     accepts(RuntimeError, _first)),
    ("modes-are-off-in-backward", "dispatch/mode-sees-backward", ("within",), _unseen),
)
