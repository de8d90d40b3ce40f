"""autocast: the casting lists, nesting, the cache, and that nothing is left of it."""

from __future__ import annotations

import threading
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.amp.casting import CASTING
from gaugeblock.amp.casting_lists import POLICIES
from gaugeblock.dispatch.dispatcher import REGISTRY
from gaugeblock.tensor.hooks import SPECIAL

B, H, F32 = gb.bfloat16, gb.float16, gb.float32
F = gb.nn.functional


def a(dtype: Any = F32) -> Any:
    return gb.ones(2, 2, dtype=dtype)


def test_every_listed_operator_is_declared() -> None:
    for policies in POLICIES.values():
        assert [name for name in policies if name not in REGISTRY.operators] == []


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda: a() @ a(), B), (lambda: gb.mm(a(), a()), B), (lambda: F.linear(a(), a(), a()[0]), B),
        (lambda: F.conv1d(a()[None], a()[None]), B), (lambda: gb.einsum("ij,jk->ik", a(), a()), B),
        (lambda: gb.addmm(a(), a(), a()), B), (lambda: gb.nn.Linear(2, 2)(a()), B),
        (lambda: gb.cat([a(), a(B)]), F32), (lambda: gb.stack([a(B), a(B)]), B), (lambda: gb.cat([a(B), a(B)]), B),
        (lambda: F.mse_loss(a(B), a(B)), F32), (lambda: gb.linalg.inv(gb.eye(2).bfloat16()), F32),
        (lambda: gb.prod(a(B)), F32), (lambda: gb.exp(a(B)), B), (lambda: gb.softmax(a(B), 0), B),
        (lambda: a(B).sum(), B),
        (lambda: a(gb.float64) @ a(gb.float64), gb.float64),
        (lambda: gb.arange(4).view(2, 2).matmul(gb.eye(2).long()), gb.int64),
        (lambda: gb.mm(a(), a(), out=gb.empty(2, 2)), F32), (lambda: a().addmm_(a(), a()), F32),
        (lambda: a() + a(B), F32),
    ],
)  # fmt: skip
def test_result_dtypes_on_the_cpu(call: Any, dtype: Any) -> None:
    with gb.autocast("cpu"):
        assert call().dtype is dtype
    assert not SPECIAL


def test_values_are_those_of_cast_operands() -> None:
    x, y = gb.randn(8, 8), gb.randn(8, 8)
    with gb.autocast("cpu", H):
        got = x @ y
    assert got.dtype is H and gb.equal(got, x.half() @ y.half())


def test_nesting_and_decorating() -> None:
    with gb.autocast("cpu"):
        with gb.autocast("cpu", enabled=False):
            assert (a() @ a()).dtype is F32 and not gb.is_autocast_enabled("cpu")
            with gb.autocast("cpu", dtype=H):
                assert (a() @ a()).dtype is H and gb.get_autocast_dtype("cpu") is H
        assert (a() @ a()).dtype is B and gb.is_autocast_enabled("cpu") and not gb.is_autocast_enabled()
        assert gb.get_autocast_dtype("cpu") is B
    mode = gb.autocast("cpu")
    with mode, mode:
        assert (a() @ a()).dtype is B
    assert (a() @ a()).dtype is F32 and not SPECIAL

    @gb.autocast("cpu")
    def product() -> Any:
        return (a() @ a()).dtype

    assert product() is B and product() is B
    with pytest.raises(ValueError, match="on purpose"), gb.autocast("cpu"):
        raise ValueError("on purpose")
    assert not gb.is_autocast_enabled("cpu") and CASTING.depth == 0


def test_the_mode_belongs_to_its_thread() -> None:
    found: list[Any] = []
    with gb.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((gb.is_autocast_enabled("cpu"), (a() @ a()).dtype)))
        thread.start()
        thread.join()
    assert found == [(False, F32)]


def test_leaves_are_cast_once() -> None:
    weight = gb.ones(2, 2, requires_grad=True)
    with gb.autocast("cpu"):
        first, second = weight @ a(), weight @ a()
        assert [key[0] for key in CASTING.cast] == [id(weight)]
        (first + second).float().sum().backward()
        gb.clear_autocast_cache()
        assert not CASTING.cast
        weight @ a()
        with gb.autocast("cpu"):
            pass
        assert CASTING.cast
    assert not CASTING.cast and weight.grad.dtype is F32 and weight.grad.tolist() == [[4, 4], [4, 4]]
    with gb.autocast("cpu", cache_enabled=False):
        weight @ a()
        assert not CASTING.cast and not gb.is_autocast_cache_enabled()
    assert gb.is_autocast_cache_enabled()


def test_settings_of_a_thread() -> None:
    try:
        gb.set_autocast_enabled("cpu", True)
        gb.set_autocast_dtype("cpu", H)
        assert (a() @ a()).dtype is H
        assert gb.autocast_increment_nesting() == 1 and gb.autocast_decrement_nesting() == 0
        gb.set_autocast_cache_enabled(False)
        assert not gb.autocast("cpu").cache
    finally:
        gb.set_autocast_enabled("cpu", False)
        gb.set_autocast_dtype("cpu", B)
        gb.set_autocast_cache_enabled(True)
    assert not SPECIAL and (a() @ a()).dtype is F32
    assert gb.amp.is_autocast_available("cpu") and not gb.amp.is_autocast_available("meta")


def test_wrong_arguments() -> None:
    with pytest.raises(RuntimeError, match="foo"):
        gb.autocast("foo")
    with pytest.raises(RuntimeError, match="no autocast for device type 'meta'"):
        gb.autocast("meta")
    with pytest.raises(ValueError, match="must be str"):
        gb.autocast(5)
    with pytest.raises(TypeError, match="dtype"):
        gb.autocast("cpu", 5)
    with pytest.raises(TypeError, match="enabled"):
        gb.set_autocast_enabled("cpu", 1)
    with pytest.raises(TypeError, match="dtype"):
        gb.set_autocast_dtype("cpu", "half")
    with pytest.warns(UserWarning, match="float32 is not supported"), gb.autocast("cpu", F32):
        assert (a() @ a()).dtype is F32
    with gb.autocast("cpu"), pytest.raises(RuntimeError, match="float16"):
        gb.cat([a(H), a(H)])


def test_a_mode_and_a_vmap_within() -> None:
    with gb.autocast("cpu"):
        assert gb.vmap(lambda row: row @ a())(a()).dtype is B
    assert gb.func.grad(lambda x: (x @ x).sum())(a()).dtype is F32


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_above_autograd_hands_on_what_is_recorded() -> None:
    library = gb.library.Library("aten", "IMPL")
    seen = []

    def kernel(keys: Any, x: Any, y: Any) -> Any:
        seen.append("AutogradCPU" in str(keys))
        lower = gb.dispatch.DispatchKeySet(mask=keys.raw_repr() & ((1 << 38) - 1))
        return gb.ops.aten.mm.default.redispatch(lower, x, y)

    library.impl("mm", kernel, "AutocastCPU", with_keyset=True)
    try:
        x = gb.ones(2, 2, requires_grad=True)
        with gb.autocast("cpu"):
            product = gb.mm(x, x)
        product.sum().backward()
        assert seen == [True] and x.grad.tolist() == [[4, 4], [4, 4]]
    finally:
        library._destroy()
