"""Junk passed to public functions that are not operators: the error names the argument, and is never internal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock import autograd, library, overrides
from gaugeblock.autograd import functional, graph
from gaugeblock_spec.operators import OperatorTableError

LEAF = gb.ones(2, requires_grad=True)
PRODUCT = LEAF * 2


@pytest.fixture
def options() -> Iterator[None]:
    yield
    gb.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.set_printoptions(threshold=object()), TypeError, "'threshold' must be int, not object"),
        (lambda: gb.set_printoptions(precision="x"), TypeError, "'precision' must be int, not str"),
        (lambda: gb.set_printoptions(edgeitems=-1), RuntimeError, "'edgeitems' must be an int that is not negative"),
        (lambda: gb.set_printoptions(sci_mode=3), TypeError, "'sci_mode' must be bool or None, not int"),
        (lambda: gb.set_printoptions(profile="long"), RuntimeError, "'profile' must be one of default, short, full"),
        (lambda: graph.get_gradient_edge([1]), TypeError, "'tensor' must be Tensor, not list"),
        (lambda: graph.register_multi_grad_hook(1.0, print), TypeError, "'tensors' must be a sequence of Tensors"),
        (lambda: graph.register_multi_grad_hook([1.0], print), TypeError, r"'tensors\[0\]' must be Tensor, not float"),
        (lambda: functional.vjp(3, gb.ones(2)), TypeError, r"vjp\(\): argument 'func' must be a function of Tensors"),
        (lambda: functional.jvp(None, gb.ones(2)), TypeError, r"jvp\(\): argument 'func' must be a function"),
        (lambda: functional.jacobian("x", gb.ones(2)), TypeError, r"jacobian\(\): argument 'func' must be a function"),
        (lambda: functional.hessian([], gb.ones(2)), TypeError, r"hessian\(\): argument 'func' must be a function"),
        (lambda: functional.hvp(gb.ones(2), gb.ones(2)), TypeError, r"hvp\(\): argument 'func' must be a function"),
        (lambda: gb.ones(2).__dlpack__(dl_device=1), TypeError, "'dl_device' must be a pair of device type and index"),
        (lambda: library.derivative_of((1, 2)), TypeError, "'op' must be str or OpOverload, not tuple"),
        (lambda: library.declare(print, "self"), TypeError, "'row' must be a mapping with the fields of a row"),
        (lambda: library.declare({}, "self"), OperatorTableError, "'row' must have a schema, a str, got None"),
        (lambda: library.derivative_of(gb.int64), TypeError, "'op' must be str or OpOverload"),
        (lambda: library.register_autograd(gb.int64, print), TypeError, "'op' must be str, OpOverload or CustomOpDef"),
        (lambda: gb.set_printoptions(profile={}), RuntimeError, "'profile' must be one of default, short, full"),
        (lambda: gb.manual_seed([]), TypeError, "'seed' must be int, not list"),
        (lambda: gb.load(1), TypeError, r"'f' must be a path or a binary file with read\(\), not int"),
        (lambda: gb.save(1, 1), TypeError, r"'f' must be a path or a binary file with write\(\), not int"),
        (lambda: gb.from_dlpack(gb.Tensor), TypeError, "'ext_tensor' must be a capsule, or an object with __dlpack__"),
        (lambda: gb.eye(gb.Tensor), TypeError, "must be int, not type"),
        (lambda: library.load_operators(True, {}), TypeError, "'path' must be str or os.PathLike, not bool"),
        (lambda: library.load_operators("x", []), TypeError, "'formulas' must be a mapping by row name, not list"),
        (
            lambda: autograd.grad(gb.ones(2, requires_grad=True) * 2, [], [2], is_grads_batched=True),
            RuntimeError,
            "cannot be empty",
        ),
        (lambda: autograd.grad(PRODUCT, LEAF, [2], is_grads_batched=True), TypeError, r"'grad_outputs\[0\]' must be"),
        (lambda: autograd.grad(gb.ones(1), None), TypeError, "'inputs' must be Tensor or sequence of Tensors"),
    ],
)
def test_junk_is_refused_by_name(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.usefixtures("options")
def test_profiles_of_printing() -> None:
    many = gb.arange(1001)
    assert "..." in str(many)
    gb.set_printoptions(profile="full")
    assert "..." not in str(many) and str(gb.tensor(1 / 3)) == "tensor(0.3333)"
    gb.set_printoptions(profile="short", precision=3)
    assert "..." in str(many) and str(gb.tensor(1 / 3)) == "tensor(0.333)"


def test_nothing_has_no_name() -> None:
    assert overrides.resolve_name(None) is None  # type: ignore[arg-type]
    assert not overrides.is_tensor_method_or_property(None)  # type: ignore[arg-type]
