"""Functions of the user: gradients that they give, and what their context offers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend_autograd import NoGrad, Rule, entered
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .leaves import backward, clear_log, expect_grad, gradient, leaf


def _apply(s: Session, rule: Rule, *tensors: Handle) -> Any:
    return s.call("apply_function", s.call("define_function", rule), *tensors)


@requirement("autograd/functions-give-one-gradient-per-argument")
@forall(arguments=hs.integers(1, 3), given=hs.lists(hs.sampled_from(([2.0, 3.0], None)), max_size=5))
def test_number_of_gradients(s: Session, arguments: int, given: list[Any]) -> None:
    leaves = [leaf(s, [1.0, 2.0]) for _ in range(arguments)]
    y = s.call("sum", _apply(s, Rule("product", "give", tuple(given)), *leaves))
    further = given[arguments:]
    if len(given) < arguments or any(g is not None for g in further):
        s.expect_raises(RuntimeError, "backward", y)
        return
    s.call("backward", y)
    for x, g in zip(leaves, given, strict=False):
        expect_grad(s, x, g)


@requirement("autograd/none-is-no-gradient")
@forall(none=hs.lists(hs.booleans(), min_size=1, max_size=3), filled=hs.booleans())
def test_none_for_a_gradient(s: Session, none: list[bool], filled: bool) -> None:
    leaves = [leaf(s, [1.0, 2.0]) for _ in none]
    if filled:
        for x in leaves:
            s.call("set_grad", x, s.call("clone", s.tensor([10.0, 20.0])))
    given = tuple(None if nothing else [float(k), 5.0] for k, nothing in enumerate(none))
    backward(s, _apply(s, Rule("product", "give", given), *leaves))
    for x, g in zip(leaves, given, strict=True):
        before = [10.0, 20.0] if filled else None
        after = before if g is None else (np.array(g) + (before or [0.0, 0.0])).tolist()
        expect_grad(s, x, after)


@requirement("autograd/none-is-no-gradient")
def test_none_ends_a_branch(s: Session) -> None:
    x, w = leaf(s, [2.0]), leaf(s, [3.0])
    y = _apply(s, Rule("product", "give", (None, [7.0])), s.call("exp", x), s.call("mul.Scalar", w, 2))
    s.call("backward", y)
    expect_grad(s, w, [14.0])
    found = s.call("grad", x)
    if isinstance(found, Handle):
        s.expect_values(found, [0.0])


@requirement("autograd/gradient-sizes-must-sum-to-the-argument")
@forall(
    sizes=hs.lists(hs.integers(1, 3), max_size=3),
    given=hs.lists(hs.integers(1, 3), max_size=3),
)
def test_sizes_of_given_gradients(s: Session, sizes: list[int], given: list[int]) -> None:
    x = leaf(s, np.ones(sizes, dtype=np.float32))
    values = np.arange(1.0, 1 + np.prod(given, dtype=int)).reshape(given)
    y = s.call("sum", _apply(s, Rule("scale", "give", (values.tolist(),)), x))
    try:
        fits = np.broadcast_shapes(tuple(sizes), tuple(given)) == tuple(given)
    except ValueError:
        fits = False
    if not fits:
        s.expect_raises(RuntimeError, "backward", y)
        return
    s.call("backward", y)
    lead = len(given) - len(sizes)
    axes = (*range(lead), *(lead + k for k, n in enumerate(sizes) if n == 1 and given[lead + k] != 1))
    expect_grad(s, x, values.sum(axis=axes).reshape(sizes).astype(np.float32))


@requirement("autograd/function-saves-tensors-with-their-version")
@forall(
    forward=hs.sampled_from(("square", "exp", "product")), changed=hs.booleans(), setup=hs.booleans(),
    which=hs.booleans(),
)  # fmt: skip
def test_saved_for_backward(s: Session, forward: str, changed: bool, setup: bool, which: bool) -> None:
    x = leaf(s, [1.0, 2.0], "float64")
    y = s.call("mul.Scalar", x, 2)
    z = _apply(s, Rule(forward, setup=setup), *([y, y] if forward == "product" else [y]))
    target = z if forward == "exp" else y
    if changed:
        written = s.call("select.int", target, 0, 0) if which else target
        with entered(s.call, NoGrad()):
            s.call("zero_", written)
        s.expect_raises(RuntimeError, "backward", s.call("sum", z))
        return
    values = np.array([2.0, 4.0])
    want = 2 * (np.exp(values) if forward == "exp" else 2 * values)
    s.expect_close(gradient(s, z, x, retain_graph=True), want, 1e-12 * np.abs(want))
    s.call("backward", s.call("sum", z))
    s.expect_raises(RuntimeError, "backward", s.call("sum", z))


@requirement("autograd/function-may-write-to-its-argument")
@forall(factor=hs.integers(-3, 3), setup=hs.booleans(), view=hs.booleans())
def test_dirty_arguments(s: Session, factor: int, setup: bool, view: bool) -> None:
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Scalar", x, 3)
    z = s.call("view", y, (2, 1)) if view else y
    result = _apply(s, Rule("inplace", factor=float(factor), setup=setup), z)
    s.expect_same(result, z)
    s.expect_values(gradient(s, z, x, retain_graph=True), [3.0 * factor] * 2)
    s.expect_values(gradient(s, y, x), [3.0 * factor] * 2)
    s.expect_values(y, [3.0 * factor, 6.0 * factor], signed_zero=False)


@requirement("autograd/function-may-write-to-its-argument")
def test_dirty_leaf(s: Session) -> None:
    x = leaf(s, [1.0, 2.0])
    function = s.call("define_function", Rule("inplace"))
    _, error = s.attempt("apply_function", function, x)
    s.expect_refusal(error, RuntimeError, "a leaf marked dirty")


@requirement("autograd/function-may-exempt-results")
@forall(setup=hs.booleans(), factor=hs.integers(-3, 3))
def test_results_without_gradient(s: Session, setup: bool, factor: int) -> None:
    x = leaf(s, [1.0, 2.0])
    y, places = s.parts(_apply(s, Rule("places", factor=float(factor), setup=setup), x), 2)
    s.expect(s.call("requires_grad", y), True, "requires_grad of the first result")
    s.expect(s.call("requires_grad", places), False, "requires_grad of the exempt result")
    s.expect_values(gradient(s, y, x), [float(factor)] * 2, signed_zero=False)


@requirement("autograd/function-may-return-its-argument")
@forall(result=hs.booleans(), setup=hs.booleans())
def test_argument_as_result(s: Session, result: bool, setup: bool) -> None:
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Scalar", x, 3) if result else x
    z = _apply(s, Rule("identity", "give", ([7.0, 8.0],), setup=setup), y)
    s.expect(z.raw is y.raw, False, "the result is the argument itself", f"{z.name} is {y.name}", [y, z])
    s.expect_shares(z, y)
    s.expect(s.call("is_leaf", z), False, "is_leaf of the result")
    s.expect_values(gradient(s, z, x, retain_graph=True), [21.0, 24.0] if result else [7.0, 8.0])
    s.expect_values(gradient(s, s.call("mul.Scalar", y, 5), x), [15.0, 15.0] if result else [5.0, 5.0])


@requirement("autograd/once-differentiable-functions-refuse-twice")
@forall(forward=hs.sampled_from(("square", "product")), plain=hs.booleans())
def test_second_derivatives(s: Session, forward: str, plain: bool) -> None:
    x = leaf(s, [1.0, 2.0])
    y = _apply(s, Rule(forward, "plain" if plain else "right"), *([x] if forward == "square" else [x, x]))
    first = gradient(s, y, x, create_graph=True)
    s.expect_values(first, [2.0, 4.0])
    total = s.call("sum", first)
    if plain:
        s.expect_raises(RuntimeError, "gradients", total, [x])
    else:
        s.expect_values(gradient(s, first, x), [2.0, 2.0])


@requirement("autograd/none-is-no-gradient")
@forall(used=hs.sampled_from(((True, True), (True, False), (False, True))), materialize=hs.booleans())
def test_gradients_that_do_not_arrive(s: Session, used: tuple[bool, bool], materialize: bool) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    results = s.parts(_apply(s, Rule("two", label="f", materialize=materialize), x), 2)
    total = None
    for y, use in zip(results, used, strict=True):
        if use:
            part = s.call("sum", y)
            total = part if total is None else s.call("add.Tensor", total, part)
    s.call("backward", total)
    signs = "".join("+" if use or materialize else "-" for use in used)
    s.expect(s.call("autograd_log"), ("f forward", f"f backward {signs}"), "calls of the function")
    expect_grad(s, x, [2.0 * used[0] + 3.0 * used[1]] * 2)


@requirement("autograd/missing-output-gradients-are-zero", needs=("autograd.func",))
def test_unused_result_of_a_function(s: Session) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0])
    first, _ = s.parts(_apply(s, Rule("two", label="f"), x), 2)
    s.call("backward", s.call("sum", first))
    s.expect(s.call("autograd_log"), ("f forward", "f backward ++"), "calls of the function")
    expect_grad(s, x, [2.0, 2.0])


@requirement("autograd/functions-give-one-gradient-per-argument")
@forall(recording=hs.booleans(), needs=hs.booleans())
def test_when_functions_are_recorded(s: Session, recording: bool, needs: bool) -> None:
    x = leaf(s, [1.0, 2.0]) if needs else s.tensor([1.0, 2.0])
    with entered(s.call, *([] if recording else [NoGrad()])):
        y = _apply(s, Rule("square"), x)
    s.expect(s.call("requires_grad", y), recording and needs, "requires_grad of a function's result")
    s.expect_values(y, [1.0, 4.0])


@requirement("autograd/views-of-functions-cannot-be-written")
@forall(
    forward=hs.sampled_from(("view", "views", "identity")), setup=hs.booleans(), further=hs.booleans(),
    base=hs.booleans(),
)  # fmt: skip
def test_writes_to_views_of_functions(s: Session, forward: str, setup: bool, further: bool, base: bool) -> None:
    x = leaf(s, [1.0, 2.0])
    y = s.call("mul.Scalar", x, 3)
    made = _apply(s, Rule(forward, setup=setup), y)
    v = s.parts(made, 2)[0] if forward == "views" else made
    v = s.call("select.int", v, 0, 0) if further else v
    if base:
        s.call("mul_.Scalar", y, 2)
        s.expect_raises(RuntimeError, "mul.Scalar", v, 2)
        return
    s.expect_raises(RuntimeError, "mul_.Scalar", v, 2)
    s.expect_values(s.call("detach", y), [3.0, 6.0])
    s.expect_values(gradient(s, v, x), [3.0, 0.0] if further and forward == "identity" else [3.0, 3.0])
