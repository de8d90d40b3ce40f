"""What must be refused is let through, or refused in words that help nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .mutant import Intercepted, Patch, rows
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


MUTANTS = rows(
    "empties and errors",
    ("negative-sizes-count-as-zero", "storage/negative-size-raises", _MAKERS, _without_negatives),
    ("oversized-requests-give-nothing", "storage/oversized-request-raises", ("empty",),
     _accepted(RuntimeError, MemoryError, otherwise=lambda c: c.do("zeros", (0,)))),
    ("emptied-storage-can-be-used", "storage/emptied-storage-raises-on-use",
     ("add", "sum", "neg", "clone", "fill_", "add_", "zero_", "cumsum"), accepts(RuntimeError, _first)),
    ("shared-memory-grows", "storage/borrowed-memory-does-not-grow", ("resize_",), accepts(RuntimeError, _first)),
    ("strides-are-an-attribute", "views/stride-is-a-method", ("__getattr__",),
     _accepted(AttributeError, otherwise=_nothing)),
    ("shape-can-be-assigned", "views/shape-is-an-immutable-tuple dispatch/device-layout-and-dtype-are-read-only",
     ("__setattr__",), _accepted(AttributeError, otherwise=_nothing)),
    ("slices-go-forwards-anyway", "views/slice-step-must-be-positive", ("__getitem__",),
     accepts(ValueError, _forwards)),
    ("surplus-indices-are-dropped", "views/too-many-indices-raise views/index-out-of-range-raises", ("__getitem__",),
     accepts(IndexError, _first)),
    ("sizes-that-do-not-fit-are-ignored", "views/view-keeps-numel views/view-infers-only-one-dim", ("view", "reshape"),
     accepts(RuntimeError, _first)),
    ("channels-last-takes-any-rank", "views/channels-last-needs-four-dims", ("contiguous", "clone"),
     accepts(RuntimeError, _first)),
    ("negative-strides-are-ignored", "views/negative-stride-argument-raises views/as-strided-out-of-bounds-raises",
     ("as_strided",), accepts(RuntimeError, _first)),
    ("reinterpretation-needs-no-divisibility",
     "views/view-wider-dtype-needs-divisibility views/view-dtype-of-zero-dim-needs-equal-width", ("view.dtype",),
     accepts(RuntimeError, _first)),
    ("assignment-checks-nothing", "views/advanced-assignment-needs-equal-dtype views/shifted-self-assignment-raises",
     ("__setitem__", "index_put_"), _accepted(RuntimeError, IndexError, ValueError, otherwise=_nothing)),
    ("overlapping-writes-do-nothing",
     "views/partial-overlap-raises[add] views/partial-overlap-raises[mul] views/transposed-self-raises",
     ("add_", "copy_", "mul_", "neg_"), accepts(RuntimeError, _first)),
    ("placing-shared-memory-does-nothing", "views/placing-shared-memory-raises",
     ("index_add_", "index_copy_", "put_", "scatter_", "scatter_add_"), accepts(RuntimeError, _first)),
    ("tensor-makes-do",
     "dtypes/ragged-list-raises dtypes/ragged-list-after-an-empty-one-raises "
     "dtypes/int-beyond-64-bits-raises dtypes/value-that-does-not-fit-raises",
     ("tensor",), _accepted(ValueError, RuntimeError, OverflowError, TypeError, otherwise=_zero)),
    ("dtypes-that-do-not-mix-give-the-first", "dtypes/limited-dtypes-do-not-add", ("promote_types",),
     accepts(RuntimeError, _first)),
    ("any-tensor-is-an-index", "dtypes/only-integer-tensors-are-indices", ("__index__",),
     _accepted(TypeError, otherwise=lambda c: 0)),
    ("any-dtype-can-require-grad",
     "dtypes/requires-grad-needs-float-or-complex autograd/only-floating-and-complex-tensors-require-grad",
     ("requires_grad_", "__setattr__"), accepts(RuntimeError, _first)),
    ("bits-of-floats-are-themselves", "dtypes/bitwise-of-floats-raises",
     ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__", "bitwise_not", "__invert__"),
     _accepted(NotImplementedError, RuntimeError, TypeError)),
    ("bool-quotients-are-the-dividend",
     "dtypes/bool-division-and-products-raise dtypes/integer-division-by-zero-raises "
     "dtypes/negative-python-exponent-of-integers-raises",
     ("floor_divide", "__floordiv__", "remainder", "__mod__", "pow", "__pow__", "fmod", "mm", "dot"),
     _accepted(NotImplementedError, RuntimeError)),
    ("numbers-too-large-are-nothing", "dtypes/python-int-operand-beyond-64-bits-raises",
     ("add", "mul", "sub", "eq", "__add__", "__mul__"), _accepted(OverflowError, RuntimeError)),
    ("devices-may-differ", "iteration/devices-must-agree", ("add", "mul"), accepts(RuntimeError, _first)),
    ("malformed-schemas-are-taken", "operators/malformed-schemas-are-refused", ("printed_schema",),
     _accepted(*_ANY, otherwise=lambda c: c.args[0])),
    ("any-derivative-is-declared", "operators/derivative-of-another-signature-is-refused", ("declare_operator",),
     _accepted(*_ANY, otherwise=_nothing)),
    ("missing-loops-copy", "operators/dtype-without-a-loop-raises", ("function:scaled_abs",),
     accepts(NotImplementedError, _first)),
    ("recording-out-is-ignored", "operators/out-does-not-record-gradients", ("sin", "add"),
     accepts(RuntimeError, lambda c: c.kwargs["out"])),
    ("out-may-lie-elsewhere", "operators/out-on-another-device-raises", ("add", "mm", "cat", "sum", "index_select"),
     accepts(RuntimeError, lambda c: c.kwargs.get("out"))),
    ("wrong-arguments-are-ignored", "operators/wrong-arguments-raise-type-errors",
     ("add", "where", "matmul", "sin", "softmax", "transpose", "sum"), accepts(TypeError, _first)),
    ("strings-can-be-added", "operators/unsupported-operands-raise", _PYTHON, accepts(TypeError, _first)),
    ("tensors-without-dims-can-be-joined", "operators/cat-refuses-tensors-without-dims", ("cat", "stack"),
     _accepted(RuntimeError, ValueError, otherwise=lambda c: c.do("tensor", [0.0]))),
    ("keywords-of-array-libraries-are-unknown", "operators/array-library-keywords-are-aliases",
     ("sum", "mean", "cumsum", "argmax", "amax"),
     lambda c: c.refuse(TypeError, "axis") if "axis" in c.kwargs else c.right()),
    ("whole-numbers-are-no-floats", "operators/float-parameters-take-whole-numbers", ("allclose",),
     lambda c: c.refuse(TypeError, "rtol") if isinstance(c.kwargs.get("rtol"), int) else c.right()),
    ("shape-errors-say-nothing", "operators/shape-errors-name-the-sizes kernels/shape-errors-say-what-was-given",
     ("add", "mm", "bmm", "dot", "cat", "stack", "matmul", "expand", "view"), _wordless),
    ("type-errors-say-nothing", "operators/type-errors-name-the-function", ("add", "where", "matmul", "sin", "softmax"),
     _wordless),
    ("argument-checks-say-nothing", "kernels/named-checks-tell-argument-and-position",
     ("embedding", "index_select", "gather"), _wordless),
    ("bad-indices-read-the-tensor", "kernels/indices-are-checked kernels/negative-indices-wrap-in-two-operators",
     ("gather", "index_select", "take", "embedding", "__getitem__"), _accepted(IndexError, RuntimeError)),
    ("malformed-kernels-are-registered", "dispatch/malformed-registrations-raise",
     ("register_kernel", "define_operator"), _accepted(*_ANY, otherwise=_nothing)),
)
