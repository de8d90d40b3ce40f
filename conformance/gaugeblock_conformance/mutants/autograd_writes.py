"""Writes, views, detached and inference tensors: history lost, errors lost, storages parted."""

from __future__ import annotations

from typing import Any

from ..backend_autograd import InferenceMode, NoGrad
from .autograd_gradients import needs_grad
from .autograd_passes import accepts_text
from .mutant import Intercepted, Patch, rows

_WRITES = ("mul_", "add_", "sub_", "zero_", "fill_", "neg_", "copy_", "tanh_", "sin_", "exp_")


def _unrecorded(c: Intercepted) -> Any:
    """The write is done with recording off."""
    inside = c.do("enter", NoGrad())
    try:
        c.do(c.operator, *c.args, **c.kwargs)
    finally:
        c.do("leave", inside)
    return c.args[0]


def _base_of(c: Intercepted) -> Any:
    return c.do("_base", c.args[0])


def _lost(view: bool) -> Patch:
    """Writes to views (or to tensors that are none) change values and leave no history."""

    def patch(c: Intercepted) -> Any:
        x = c.args[0]
        if not needs_grad(c, *c.args) or c.do("is_leaf", x) or (_base_of(c) is not None) is not view:
            return c.right()
        return _unrecorded(c)

    return patch


def _source_is_constant(c: Intercepted) -> Any:
    """The value that is written counts as a constant."""
    x, *rest = c.args
    return c.do(c.operator, x, *[c.do("detach", a) if c.is_tensor(a) else a for a in rest], **c.kwargs)


def _old_gradient_stays(c: Intercepted) -> Any:
    """A tensor that is overwritten keeps the gradient of what it held."""
    x = c.args[0]
    if not needs_grad(c, x) or c.do("is_leaf", x):
        return c.right()
    values = c.do("clone", c.do("detach", x))
    c.do(c.operator, values, *c.args[1:], **c.kwargs)
    c.do("add_.Tensor", x, c.do("sub.Tensor", values, c.do("detach", x)))
    return x


def _write_counts_for_nothing(c: Intercepted) -> Any:
    """A write is not counted: saved tensors are taken for unchanged."""
    x = c.args[0]
    if c.base in ("copy_", "add_", "sub_") or (needs_grad(c, *c.args) and c.do("is_leaf", x)):
        return c.right()
    values = c.do("clone", c.do("detach", x))
    c.do(c.operator, values, *[c.do("detach", a) if c.is_tensor(a) else a for a in c.args[1:]], **c.kwargs)
    if needs_grad(c, x):
        return c.right()
    c.do("copy_", c.do("data", x), values)
    return x


def _copied(c: Intercepted) -> Any:
    return c.do("clone", c.right())


def _attached(c: Intercepted) -> Any:
    """A detached tensor is a view like any other."""
    return c.do("view_as", c.args[0], c.args[0])


def _apart(c: Intercepted) -> Any:
    """A detached tensor counts its writes for itself."""
    return c.do("data", c.args[0])


def _detached_anyway(c: Intercepted) -> Any:
    return c.args[0]


def _numpy_anyway(c: Intercepted) -> Any:
    return c.do("numpy", c.do("detach", c.args[0]))


def _inside(c: Intercepted) -> Any:
    """The call is made in inference mode."""
    inside = c.do("enter", InferenceMode())
    try:
        return c.do(c.operator, *c.args, **c.kwargs)
    finally:
        c.do("leave", inside)


def _saved_anyway(c: Intercepted) -> Any:
    return c.do(c.operator, *[c.do("clone", a) if c.is_tensor(a) and c.do("is_inference", a) else a for a in c.args])


def _follows_inside(c: Intercepted) -> Any:
    """A view taken in inference mode requires grad if its source does."""
    view = c.right()
    if c.do("is_inference_mode_enabled") and c.do("is_inference", view) and c.do("requires_grad", c.args[0]):
        c.do("requires_grad_", view)
    return view


def _no_version(c: Intercepted) -> Any:
    return 0 if c.args[1] == "_version" else c.right()


def _ordinary_parts(c: Intercepted) -> Any:
    """The parts are those of `split`, which may not be written to."""
    return c.do(c.operator.removeprefix("unsafe_"), *c.args, **c.kwargs)


def _written_if_later(c: Intercepted) -> Any:
    """A write to a view, taken before its base came to require grad, succeeds unrecorded."""
    base = _base_of(c)
    later = base is not None and c.do("requires_grad", base) and c.do("grad_fn", c.args[0]) is None
    return _unrecorded(c) if later else c.right()


MUTANTS = (
    *rows(
        "autograd",
        ("leaves-may-be-written", "autograd/leaf-cannot-be-written", _WRITES,
         accepts_text("leaf Variable", _unrecorded)),
        ("one-of-several-views-may-be-written", "autograd/one-of-several-views-cannot-be-written", _WRITES,
         accepts_text("multiple views|Output \\d", _unrecorded)),
        ("unsafe-parts-may-not-be-written", "autograd/unsafe-parts-may-be-written",
         ("unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"), _ordinary_parts),
        ("unrecorded-views-may-be-written",
         "autograd/unrecorded-view-cannot-be-written-recorded "
         "autograd/unrecorded-view-of-a-plain-tensor-cannot-be-written-recorded",
         _WRITES, accepts_text("no_grad mode", _unrecorded)),
        ("views-of-later-leaves-may-be-written", "autograd/view-of-a-later-leaf-cannot-be-written", _WRITES,
         accepts_text("view of a leaf|in no_grad mode", _written_if_later)),
        ("views-of-functions-may-be-written", "autograd/views-of-functions-cannot-be-written", _WRITES,
         accepts_text("inside a custom Function", _unrecorded)),
        ("writes-through-views-leave-no-history", "autograd/write-through-a-view-reaches-the-base", _WRITES,
         _lost(view=True)),
        ("writes-leave-no-history",
         "autograd/programs-of-writes-have-the-gradients-of-their-values "
         "autograd/write-through-a-view-reaches-the-base autograd/write-to-the-base-reaches-its-views",
         _WRITES, _lost(view=False)),
        ("written-values-are-constants", "autograd/write-of-a-differentiable-value-is-recorded",
         ("copy_", "add_", "sub_", "mul_"), _source_is_constant),
        ("overwritten-values-keep-their-gradient",
         "autograd/programs-of-writes-have-the-gradients-of-their-values "
         "autograd/write-through-a-view-reaches-the-base",
         ("zero_", "fill_"), _old_gradient_stays),
        ("unrecorded-writes-are-not-counted", "autograd/changed-saved-tensor-raises views/inplace-bumps-version-by-one",
         ("zero_", "fill_", "mul_"), _write_counts_for_nothing),
        ("detached-tensors-are-copies",
         "autograd/detach-cuts-the-graph autograd/detach-shares-the-version storage/sharing-operators-keep-the-storage",
         ("detach",), _copied),
        ("detach-keeps-the-graph", "autograd/detach-cuts-the-graph", ("detach",), _attached),
        ("detached-tensors-count-for-themselves", "autograd/detach-shares-the-version", ("detach",), _apart),
        ("views-can-be-detached-in-place", "autograd/view-cannot-be-detached-in-place", ("detach_",),
         accepts_text("view", _detached_anyway)),
        ("results-may-stop-requiring-grad", "autograd/result-cannot-stop-requiring-grad",
         ("requires_grad_", "set_requires_grad"), accepts_text("leaf", _detached_anyway)),
        ("inference-tensors-are-written-outside",
         "autograd/inference-tensors-are-written-inside-alone "
         "autograd/refused-write-to-an-inference-tensor-changes-nothing",
         _WRITES, accepts_text("[Ii]nference", _inside)),
        ("inference-tensors-are-saved", "autograd/inference-tensors-cannot-be-saved", ("mul", "div", "maximum", "dot"),
         accepts_text("[Ii]nference", _saved_anyway)),
        ("views-follow-in-inference-mode", "autograd/views-taken-in-inference-mode-do-not-require-grad",
         ("view", "select.int", "unsqueeze", "expand"), _follows_inside),
        ("inference-tensors-have-a-version", "autograd/inference-tensors-have-no-version", ("__getattr__",),
         accepts_text("[Ii]nference", _no_version)),
        ("inference-tensors-are-ordinary", "autograd/inference-tensors-cannot-be-saved", ("is_inference",),
         lambda c: False),
        ("data-is-a-copy",
         "autograd/data-bypasses-the-version views/data-has-its-own-version storage/sharing-operators-keep-the-storage",
         ("data",), _copied),
    ),
    *rows(
        "interop",
        ("numpy-of-tensors-that-require-grad", "autograd/numpy-refuses-tensors-that-require-grad", ("numpy",),
         accepts_text("requires grad|require grad", _numpy_anyway)),
    ),
)
