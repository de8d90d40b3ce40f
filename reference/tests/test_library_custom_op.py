"""custom_op, infer_schema, opcheck and the functions that register kernels and derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock import Tensor
from gaugeblock.library import (
    Derivative,
    MissingDerivative,
    OpCheckError,
    custom_op,
    define,
    derivative_of,
    impl,
    infer_schema,
    opcheck,
    register_autograd,
    register_fake,
    register_kernel,
)
from gaugeblock.library.custom_op import DEFINED


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for name in [name for name in DEFINED if name.startswith("opstest::")]:
        DEFINED.pop(name)._lib._destroy()


def everything(
    x: Tensor, y: Tensor | None, n: int = 3, s: float = 1.0, b: bool = False, t: str = "abc", *,
    d: gb.dtype | None = None,
) -> Tensor:  # fmt: skip
    return x


def lists(
    xs: Sequence[Tensor], z: int | float | bool = 1, dt: gb.dtype = gb.float32, dev: gb.device | None = None,
    sizes: list[int] | None = None,
) -> tuple[Tensor, int]:  # fmt: skip
    return xs[0], 1


def written(x: Tensor, y: Tensor) -> None: ...


def no_hint(x) -> Tensor: ...  # type: ignore[no-untyped-def,empty-body]


def no_result(x: Tensor): ...  # type: ignore[no-untyped-def]


def variadic(x: Tensor, *rest: int) -> Tensor: ...  # type: ignore[empty-body]


def unknown(x: dict[str, int]) -> Tensor: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "mutates", "schema"),
    [
        (everything, (), '(Tensor x, Tensor? y, SymInt n=3, float s=1.0, bool b=False, str t="abc", *, '
         "ScalarType? d=None) -> Tensor"),
        (lists, (), "(Tensor[] xs, Scalar z=1, ScalarType dt=float32, Device? dev=None, SymInt[]? sizes=None) -> "
         "(Tensor, SymInt)"),
        (written, {"x"}, "(Tensor(a0!) x, Tensor y) -> ()"),
        (written, "unknown", "(Tensor(a0!) x, Tensor(a1!) y) -> ()"),
    ],
)  # fmt: skip
def test_schemas_follow_the_hints(function: Any, mutates: Any, schema: str) -> None:
    assert infer_schema(function, mutates_args=mutates) == schema
    assert infer_schema(function, mutates_args=mutates, op_name="f") == "f" + schema


@pytest.mark.parametrize(
    ("function", "mutates", "match"),
    [
        (no_hint, (), "'x' must have a type hint"),
        (no_result, (), "return type must be annotated"),
        (variadic, (), "'rest' is variadic"),
        (unknown, (), "'x' has the unsupported type"),
        (written, {"z"}, r"mutates_args names \['z'\]"),
        (written, "x", "mutates_args must be 'unknown'"),
        (everything, {"n"}, "'n' is in mutates_args but no tensor"),
    ],
)
def test_hints_that_no_schema_has(function: Any, mutates: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        infer_schema(function, mutates_args=mutates)


def test_a_custom_operator_runs_checks_and_is_in_ops() -> None:
    @custom_op("opstest::scale", mutates_args=())
    def scale(x: Tensor, by: float = 2.0) -> Tensor:
        """Times a number."""
        return x * by

    x = gb.tensor([1.0, 2.0])
    assert scale(x).tolist() == gb.ops.opstest.scale(x).tolist() == [2.0, 4.0]
    assert scale(x, by=3.0).tolist() == [3.0, 6.0]
    assert (scale.__name__, scale.__doc__) == ("scale", "Times a number.")
    with pytest.raises(RuntimeError, match=r"opstest::scale\(\) expected a value of type 'Tensor'"):
        scale("x")
    assert repr(scale) == "<CustomOpDef(opstest::scale)>"


def test_kernels_by_device_and_without_data() -> None:
    @custom_op("opstest::f", mutates_args=(), device_types="cpu")
    def f(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="register_fake"):
        f(gb.ones(2, device="meta"))

    @f.register_fake
    def shapes(x: Tensor) -> Tensor:
        return gb.empty_like(x)

    assert f(gb.ones(2, device="meta")).shape == (2,)
    f.register_kernel("cpu")(lambda x: x + 2)
    assert f(gb.tensor([1])).tolist() == [3]
    with f.set_kernel_enabled("cpu", enabled=False):
        assert f(gb.tensor([1])).tolist() == [2]
    assert f(gb.tensor([1])).tolist() == [3]


def test_written_arguments_count_as_changed() -> None:
    @custom_op("opstest::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.numpy()[...] = value

    x = gb.zeros(2)
    before = x._version
    assert fill(x, 3.0) is None
    assert x.tolist() == [3.0, 3.0] and x._version == before + 1


def test_results_may_not_be_arguments() -> None:
    @custom_op("opstest::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="may not be, or be a view of, an argument"):
        same(gb.ones(1))


def test_defining_again_replaces() -> None:
    custom_op("opstest::f", lambda: None, mutates_args=(), schema="() -> ()")
    made = custom_op("opstest::f", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert made(gb.tensor([1])).tolist() == [2]
    assert gb.ops.opstest.f.overloads() == ["default"]


@pytest.mark.parametrize("name", ["f", "opstest::", "a::b::c", "opstest::f.overload"])
def test_names_need_a_namespace(name: str) -> None:
    with pytest.raises(ValueError, match="custom_op"):
        custom_op(name, lambda: None, mutates_args=(), schema="() -> ()")


def test_a_given_schema_must_agree_with_mutates_args() -> None:
    with pytest.raises(ValueError, match=r"writes \['x'\], but mutates_args is \[\]"):
        custom_op("opstest::f", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")
    with pytest.raises(RuntimeError, match="'tpu'"):
        custom_op("opstest::f", lambda: None, mutates_args=(), schema="() -> ()", device_types="tpu")


def test_a_derivative_is_kept_and_its_absence_raises() -> None:
    @custom_op("opstest::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return x**3

    missing = derivative_of("opstest::cube")
    assert isinstance(missing, MissingDerivative)
    with pytest.raises(RuntimeError, match="backward through opstest::cube but no autograd formula"):
        missing.backward(None, gb.ones(1))

    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad

    cube.register_autograd(backward, setup_context=print)
    assert derivative_of(gb.ops.opstest.cube.default) == Derivative(backward, print)
    assert derivative_of("aten::add.Tensor") is None


def test_only_functional_operators_have_formulas() -> None:
    custom_op("opstest::w", lambda x: None, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
    with pytest.raises(RuntimeError, match="non-functional operator opstest::w"):
        register_autograd("opstest::w", print)


def test_the_module_functions() -> None:
    from gaugeblock.library import Library

    lib = Library("opstest", "FRAGMENT")
    define("opstest::g", "(Tensor x, float s) -> Tensor", lib=lib)
    impl("opstest::g", "cpu", lambda x, s: x * s, lib=lib)
    register_fake("opstest::g", lambda x, s: gb.empty_like(x), lib=lib)
    assert gb.ops.opstest.g(gb.ones(1), 3).tolist() == [3.0]
    assert gb.ops.opstest.g(gb.ones(1, device="meta"), 3).shape == (1,)
    with pytest.warns(UserWarning, match="for CPU"):
        register_kernel("opstest::g", "cpu", lambda x, s: x + s, lib=lib)
    assert gb.ops.opstest.g(gb.ones(1), 3).tolist() == [4.0]
    with pytest.raises(ValueError, match="namespace"):
        define("g", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="not of the form"):
        define("opstest::h", "Tensor", lib=lib)
    lib._destroy()


def test_opcheck_accepts_an_honest_operator() -> None:
    @custom_op("opstest::ok", mutates_args=())
    def ok(x: Tensor) -> Tensor:
        return x + 1

    ok.register_fake(lambda x: gb.empty_like(x))
    assert set(opcheck(ok, (gb.ones(2, 3),)).values()) == {"SUCCESS"}
    assert opcheck(gb.ops.aten.add.Tensor, (gb.ones(2), gb.ones(2)), {"alpha": 2})["test_schema"] == "SUCCESS"


def test_opcheck_finds_lies() -> None:
    lib = gb.library.Library("opstest", "FRAGMENT")
    lib.define("writes(Tensor x) -> Tensor")
    lib.impl("writes", lambda x: x.add_(1).clone(), "CPU")
    lib.define("views(Tensor x) -> Tensor")
    lib.impl("views", lambda x: x.view(-1), "CPU")
    lib.define("shape(Tensor x) -> Tensor")
    lib.impl("shape", lambda x: x + 1, "CPU")
    lib.impl("shape", lambda x: x.new_empty(7), "Meta")
    x = gb.ones(2)
    with pytest.raises(OpCheckError, match="'x' was changed"):
        opcheck("opstest::writes", (x,), test_utils="test_schema")
    with pytest.raises(OpCheckError, match="shares the storage of argument 'x'"):
        opcheck("opstest::views", (x,), test_utils="test_schema")
    with pytest.raises(OpCheckError, match=r"on meta has sizes \[7\]"):
        opcheck("opstest::shape", (x,), test_utils="test_faketensor")
    with pytest.raises(OpCheckError, match="neither an autograd kernel nor a formula"):
        opcheck("opstest::shape", (gb.ones(2, requires_grad=True),), test_utils="test_autograd_registration")
    assert "was changed" in opcheck("opstest::writes", (x,), raise_exception=False)["test_schema"]
    with pytest.raises(ValueError, match="'test_nothing'"):
        opcheck("opstest::shape", (x,), test_utils="test_nothing")
    lib._destroy()
