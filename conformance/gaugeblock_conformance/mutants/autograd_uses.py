"""Graphs that forget how often, where and in which order tensors were used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .autograd_gradients import argument, disguised, needs_grad
from .mutant import Intercepted, Patch, rows
from .patches import accepts

_WRITES = ("mul_", "add_", "sub_", "zero_", "fill_", "neg_", "copy_", "tanh_", "sin_", "exp_")


def _nodes_apart(c: Intercepted) -> Any:
    """Each result of a call gets a node for itself."""
    parts = c.right()
    if not needs_grad(c, *parts):
        return parts
    return type(parts)([c.do("view_as", part, part) for part in parts])


def _as_at_first(c: Intercepted) -> Any:
    """The gradient of a product by a number is that of the first one ever made."""
    return c.do(c.operator, c.args[0], c.memory.setdefault("factor", c.args[1]))


def _saves_ones(c: Intercepted) -> Any:
    """A sum is a product with ones, which is saved."""
    x = c.args[0]
    if not needs_grad(c, x) or len(c.args) > 1 or c.kwargs:
        return c.right()
    return c.do("sum", c.do("mul.Tensor", x, c.do("ones_like", c.do("detach", x))))


class _Variable:
    """A wrapper around a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _second_is_constant(c: Intercepted) -> Any:
    """A tensor given twice to one call counts as used once."""
    x, y = c.args
    return c.do(c.operator, x, c.do("detach", y)) if x is y and needs_grad(c, x) else c.right()


def _nested(most: int) -> Patch:
    """Backward passes nested more than ``most`` deep are refused."""

    def patch(c: Intercepted) -> Any:
        if c.operator == "define_function":
            rule = c.args[0]
            c.memory["nested"] = rule.given if rule.backward == "nested" else 0
        elif c.operator in ("backward", "gradients") and c.memory.pop("nested", 0) > most:
            c.refuse(RuntimeError, "backward within backward")
        return c.right()

    return patch


def _by_logarithm(c: Intercepted) -> Any:
    return c.do("exp", c.do("mul.Scalar", c.do("log", c.args[0]), c.args[1]))


def _ones_for_zeros(c: Intercepted, gradient: Any) -> Any:
    nothing = c.do("eq.Scalar", gradient, 0)
    return c.do("masked_fill.Scalar", gradient, nothing, 1)


def _stays_plain(c: Intercepted) -> Any:
    """A view of a tensor that came to require grad by ``copy_`` does not."""
    x = c.args[0]
    if c.operator == "requires_grad":
        came = c.backend.storage_id(x) in c.memory.get("came", ()) and c.do("_base", x) is not None
        return False if came else c.right()
    before = c.do("requires_grad", x)
    result = c.right()
    if not before and c.do("requires_grad", x):
        c.memory.setdefault("came", set()).add(c.backend.storage_id(x))
    return result


def _never_written(c: Intercepted) -> Any:
    x = c.args[0]
    if c.do("requires_grad", x) and c.do("is_leaf", x):
        c.refuse(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation")
    return c.right()


def _saved_for_nothing(c: Intercepted) -> Any:
    """The operand is saved beside the graph, and its gradient asks for it."""
    y, x = c.right(), c.args[0]
    if not needs_grad(c, x) or c.inplace or not c.backend.dtype(x).startswith("float"):
        return y
    return c.do("add.Tensor", y, c.do("mul.Scalar", c.do("sum", c.do("mul.Tensor", x, x)), 0))


def _used_as_it_is(c: Intercepted) -> Any:
    """Calls that autograd must refuse to record run without being recorded."""
    return c.do(c.operator, *[c.do("data", x) if c.is_tensor(x) else x for x in c.args])


def _ones_for_none(c: Intercepted) -> Any:
    """None for a gradient counts as ones."""
    rule = c.args[0]
    if rule.backward != "give":
        return c.right()
    known = next((len(one) for one in rule.given if one is not None), 1)
    given = tuple([1.0] * known if one is None else one for one in rule.given)
    return c.do("define_function", replace(rule, given=given))


def _nan_to_zero(c: Intercepted, gradient: Any) -> Any:
    return c.do("nan_to_num", gradient)


def _sent_values(c: Intercepted) -> Any:
    """A tensor sent to another process loses its graph."""
    return c.do("sent", c.do("detach", c.args[0]))


def _constant_leaves(c: Intercepted) -> Any:
    return c.do("detach", c.right())


MUTANTS = (
    *rows(
        "autograd",
        ("parts-have-nodes-of-their-own", "autograd/every-differentiable-result-has-a-node-of-its-call",
         ("split_with_sizes",), _nodes_apart),
        ("first-program-is-differentiated", "autograd/control-flow-is-differentiated-as-executed", ("mul.Scalar",),
         disguised(_as_at_first)),
        ("sums-save-ones", "autograd/sums-save-no-tensor", ("sum",), _saves_ones),
        ("variables-are-wrappers", "autograd/variable-is-tensor", ("variable",), lambda c: _Variable(c.right())),
        ("second-use-in-a-call-is-constant", "autograd/uses-of-a-tensor-add-up", ("mul.Tensor",), _second_is_constant),
        ("backward-inside-backward-is-refused", "autograd/backward-inside-backward",
         ("define_function", "backward", "gradients"), _nested(0)),
        ("nesting-ends-at-64", "autograd/nesting-may-be-deep", ("define_function", "backward", "gradients"),
         _nested(64)),
        ("powers-go-by-the-logarithm", "autograd/powers-are-differentiable-at-zero", ("pow.Tensor_Scalar",),
         disguised(_by_logarithm)),
        ("branches-not-taken-lose-their-nan", "autograd/where-lets-nan-through",
         ("sqrt", "log", "rsqrt", "reciprocal", "pow.Tensor_Scalar"), argument(0, _nan_to_zero)),
        ("gradient-outside-of-parts-is-one", "autograd/parts-scatter-into-zeros", ("__getitem__", "select"),
         argument(0, _ones_for_zeros)),
        ("views-of-formerly-plain-tensors-stay-plain", "autograd/view-follows-a-base-that-came-to-require-grad",
         ("copy_", "requires_grad"), _stays_plain),
        ("leaves-are-never-written", "autograd/leaf-can-be-written-unrecorded", _WRITES, _never_written),
        ("linear-operators-save-their-operand", "autograd/writes-to-unsaved-tensors-are-free", ("neg", "clone", "flip"),
         _saved_for_nothing),
        ("views-that-cannot-follow-are-constants", "autograd/view-that-cannot-follow-its-base-raises", ("mul.Tensor",),
         accepts(RuntimeError, _used_as_it_is)),
        ("none-counts-as-ones", "autograd/none-is-no-gradient", ("define_function",), _ones_for_none),
        ("histories-are-cut-at-processes", "autograd/only-leaves-cross-processes", ("sent",),
         accepts(RuntimeError, _sent_values)),
        ("leaves-arrive-as-constants", "autograd/only-leaves-cross-processes", ("sent",), _constant_leaves),
    ),
)
