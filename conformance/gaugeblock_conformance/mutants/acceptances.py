"""What must be refused is let through, or refused in words that help nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .mutant import Intercepted, Mutant, Patch
from .patches import accepts

_MAKERS = ("zeros", "ones", "empty", "full")
_ANY = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, NotImplementedError, MemoryError)
_PYTHON = tuple(f"__{name}__" for name in "add sub mul truediv floordiv mod pow and or xor lt le gt ge".split())


def _first(c: Intercepted) -> Any:
    """The call does nothing and answers with its first tensor."""
    return next((a for a in (*c.args, *c.kwargs.values()) if c.is_tensor(a)), c.args[0] if c.args else None)


def _nothing(c: Intercepted) -> Any:
    return None


def _accepted(*kinds: type[Exception], otherwise: Callable[[Intercepted], Any] = _first) -> Patch:
    """``otherwise`` where the right backend raises any of ``kinds``."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except kinds:
            return otherwise(c)

    return patch


def _without_negatives(c: Intercepted) -> Any:
    """Negative sizes count as zero."""
    sizes = c.args[0]
    if not isinstance(sizes, list | tuple) or all(n >= 0 for n in sizes):
        return c.right()
    return c.do(c.operator, tuple(max(n, 0) for n in sizes), *c.args[1:], **c.kwargs)


def _zero(c: Intercepted) -> Any:
    return c.do("tensor", 0)


def _forwards(c: Intercepted) -> Any:
    """Slices with a negative step go forwards."""
    x, index = c.args[:2]
    items = index if isinstance(index, tuple) else (index,)
    return c.do("__getitem__", x, tuple(slice(None) if isinstance(item, slice) else item for item in items))


def _wordless(c: Intercepted) -> Any:
    """Refusals of the right class that say nothing."""
    try:
        return c.right()
    except _ANY as error:
        kind = type(error)

    def refuse() -> Any:
        raise kind("bad input")

    return c.by(refuse)


def _row(name: str, area: str, operators: tuple[str, ...], patch: Patch) -> Mutant:
    return Mutant(name, "empties and errors", area, operators, patch)


MUTANTS = (
    _row("negative-sizes-count-as-zero", "storage", _MAKERS, _without_negatives),
    _row("oversized-requests-give-nothing", "storage", ("empty",),
         _accepted(RuntimeError, MemoryError, otherwise=lambda c: c.do("zeros", (0,)))),
    _row("emptied-storage-can-be-used", "storage", ("add", "sum", "neg", "clone", "fill_", "add_", "zero_", "cumsum"),
         accepts(RuntimeError, _first)),
    _row("shared-memory-grows", "storage", ("resize_",), accepts(RuntimeError, _first)),
    _row("strides-are-an-attribute", "views", ("__getattr__",), _accepted(AttributeError, otherwise=_nothing)),
    _row("shape-can-be-assigned", "views", ("__setattr__",), _accepted(AttributeError, otherwise=_nothing)),
    _row("slices-go-forwards-anyway", "views", ("__getitem__",), accepts(ValueError, _forwards)),
    _row("surplus-indices-are-dropped", "views", ("__getitem__",), accepts(IndexError, _first)),
    _row("sizes-that-do-not-fit-are-ignored", "views", ("view", "reshape"), accepts(RuntimeError, _first)),
    _row("channels-last-takes-any-rank", "views", ("contiguous", "clone"), accepts(RuntimeError, _first)),
    _row("negative-strides-are-ignored", "views", ("as_strided",), accepts(RuntimeError, _first)),
    _row("reinterpretation-needs-no-divisibility", "views", ("view.dtype",), accepts(RuntimeError, _first)),
    _row("assignment-checks-nothing", "views", ("__setitem__", "index_put_"),
         _accepted(RuntimeError, IndexError, ValueError, otherwise=_nothing)),
    _row("overlapping-writes-do-nothing", "views", ("add_", "copy_", "mul_", "neg_"), accepts(RuntimeError, _first)),
    _row("placing-shared-memory-does-nothing", "views",
         ("index_add_", "index_copy_", "put_", "scatter_", "scatter_add_"), accepts(RuntimeError, _first)),
    _row("tensor-makes-do", "dtypes", ("tensor",),
         _accepted(ValueError, RuntimeError, OverflowError, TypeError, otherwise=_zero)),
    _row("dtypes-that-do-not-mix-give-the-first", "dtypes", ("promote_types",), accepts(RuntimeError, _first)),
    _row("any-tensor-is-an-index", "dtypes", ("__index__",), _accepted(TypeError, otherwise=lambda c: 0)),
    _row("any-dtype-can-require-grad", "dtypes", ("requires_grad_", "__setattr__"), accepts(RuntimeError, _first)),
    _row("bits-of-floats-are-themselves", "dtypes",
         ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__", "bitwise_not", "__invert__"),
         _accepted(NotImplementedError, RuntimeError, TypeError)),
    _row("bool-quotients-are-the-dividend", "dtypes",
         ("floor_divide", "__floordiv__", "remainder", "__mod__", "pow", "__pow__", "fmod", "mm", "dot"),
         _accepted(NotImplementedError, RuntimeError)),
    _row("numbers-too-large-are-nothing", "dtypes", ("add", "mul", "sub", "eq", "__add__", "__mul__"),
         _accepted(OverflowError, RuntimeError)),
    _row("devices-may-differ", "iteration", ("add", "mul"), accepts(RuntimeError, _first)),
    _row("malformed-schemas-are-taken", "operators", ("printed_schema",),
         _accepted(*_ANY, otherwise=lambda c: c.args[0])),
    _row("any-derivative-is-declared", "operators", ("declare_operator",), _accepted(*_ANY, otherwise=_nothing)),
    _row("missing-loops-copy", "operators", ("function:scaled_abs",), accepts(NotImplementedError, _first)),
    _row("recording-out-is-ignored", "operators", ("sin", "add"), accepts(RuntimeError, lambda c: c.kwargs["out"])),
    _row("out-may-lie-elsewhere", "operators", ("add", "mm", "cat", "sum", "index_select"),
         accepts(RuntimeError, lambda c: c.kwargs.get("out"))),
    _row("wrong-arguments-are-ignored", "operators", ("add", "where", "matmul", "sin", "softmax", "transpose", "sum"),
         accepts(TypeError, _first)),
    _row("strings-can-be-added", "operators", _PYTHON, accepts(TypeError, _first)),
    _row("tensors-without-dims-can-be-joined", "operators", ("cat", "stack"),
         _accepted(RuntimeError, ValueError, otherwise=lambda c: c.do("tensor", [0.0]))),
    _row("keywords-of-array-libraries-are-unknown", "operators", ("sum", "mean", "cumsum", "argmax", "amax"),
         lambda c: c.refuse(TypeError, "axis") if "axis" in c.kwargs else c.right()),
    _row("whole-numbers-are-no-floats", "operators", ("allclose",),
         lambda c: c.refuse(TypeError, "rtol") if isinstance(c.kwargs.get("rtol"), int) else c.right()),
    _row("shape-errors-say-nothing", "operators",
         ("add", "mm", "bmm", "dot", "cat", "stack", "matmul", "expand", "view"), _wordless),
    _row("type-errors-say-nothing", "operators", ("add", "where", "matmul", "sin", "softmax"), _wordless),
    _row("argument-checks-say-nothing", "kernels", ("embedding", "index_select", "gather"), _wordless),
    _row("bad-indices-read-the-tensor", "kernels", ("gather", "index_select", "take", "embedding", "__getitem__"),
         _accepted(IndexError, RuntimeError)),
    _row("malformed-kernels-are-registered", "dispatch", ("register_kernel", "define_operator"),
         _accepted(*_ANY, otherwise=_nothing)),
)
