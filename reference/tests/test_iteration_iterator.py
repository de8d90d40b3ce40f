"""The built iterator: shapes, dtypes, layouts, checks, introspection."""

from __future__ import annotations

from pathlib import Path

import gaugeblock as gb
import pytest
from gaugeblock.iteration import BINARY, COMPARISON, FLOAT, IteratorConfig, TensorIterator, plan


def test_default_config_refuses_mixed_dtypes() -> None:
    with pytest.raises(RuntimeError, match=r"int32.*float32|float32.*int32"):
        plan(gb.zeros(3), gb.zeros(3, dtype=gb.int32))
    assert plan(gb.zeros(3), gb.zeros(3, dtype=gb.int32), config=BINARY).common_dtype is gb.float32


def test_contiguous_operands_collapse_to_one_dim() -> None:
    x = gb.zeros(3, 4, 5)
    built = plan(x, x)
    assert (built.shape, built.strides) == ((60,), ((4,), (4,), (4,)))


def test_gaps_broadcast_and_other_order_block_collapsing() -> None:
    x = gb.zeros(3, 4)
    assert plan(x, gb.zeros(4)).shape == (4, 3)
    assert plan(x, gb.zeros(3, 5)[:, :4]).shape == (4, 3)
    assert plan(x, gb.zeros(4, 3).t()).shape == (4, 3)
    assert plan(x, gb.zeros(()), config=BINARY).shape == (12,)
    assert plan(x[:, ::2]).shape == (6,)


def test_inner_strides_ascend_for_the_first_operand() -> None:
    built = plan(gb.zeros(2, 3, 4).permute(2, 0, 1), gb.zeros(4, 2, 3))
    strides = built.strides[1]
    assert list(strides) == sorted(strides)


def test_output_layout_follows_the_inputs() -> None:
    first = gb.zeros(2, 3).t()
    assert plan(first, gb.zeros(3, 2)).outputs[0].meta.strides == (1, 3)
    assert plan(gb.zeros(3, 2), first).outputs[0].meta.strides == (2, 1)
    assert plan(gb.zeros(4, 6)[:, ::2].t()).outputs[0].meta.strides == (1, 3)


def test_zero_elements_run_no_loop_and_zero_dims_run_one() -> None:
    calls: list[int] = []
    TensorIterator((None,), (gb.zeros(0, 3),)).build().for_each(lambda addresses, strides, count: calls.append(count))
    assert calls == []
    TensorIterator((None,), (gb.zeros(()),)).build().for_each(lambda addresses, strides, count: calls.append(count))
    assert calls == [1]
    TensorIterator((None,), (gb.zeros(3, 4), gb.zeros(4))).build().for_each(lambda a, s, count: calls.append(count))
    assert calls == [1, 4, 4, 4]


def test_for_each_visits_every_element_once() -> None:
    x = gb.zeros(3, 4).t()
    seen: list[int] = []

    def loop(addresses: tuple[int, ...], strides: tuple[int, ...], count: int) -> None:
        seen.extend(addresses[1] + k * strides[1] for k in range(count))

    TensorIterator((None,), (x, gb.zeros(4, 1))).build().for_each(loop)
    assert sorted(seen) == [x.data_ptr() + 4 * k for k in range(12)]


def test_overlap_is_found_before_anything_is_allocated() -> None:
    base = gb.zeros(5)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        plan(base, outputs=(gb.zeros(1).expand(5),))
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        plan(base[:4], outputs=(base[1:],))
    assert plan(base[:2], outputs=(base[2:4],)).shape == (2,)
    assert plan(base[:4], outputs=(base[1:],), check_mem_overlap=False).shape == (4,)


def test_destination_is_never_broadcast() -> None:
    out = gb.zeros(3)
    with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        plan(out, gb.zeros(2, 3), outputs=(out,))
    with pytest.raises(RuntimeError, match="output with shape"):
        plan(gb.zeros(2, 3), outputs=(out,), resize_outputs=False)
    assert plan(gb.zeros(2, 3), outputs=(out,)).outputs[0].will_resize
    assert out.shape == (3,)


def test_integer_inputs_to_float_and_static_dtype() -> None:
    x = gb.zeros(3, dtype=gb.int64)
    assert plan(x, config=FLOAT).outputs[0].dtype is gb.float32
    built = plan(x, 2.5, config=COMPARISON, static_dtype=gb.bool)
    assert (built.common_dtype, built.outputs[0].dtype) == (gb.float32, gb.bool)


def test_safe_casting_is_checked_on_demand() -> None:
    out = gb.zeros(3, dtype=gb.int32)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        plan(gb.zeros(3), outputs=(out,), config=BINARY)
    assert plan(gb.zeros(3), outputs=(out,), config=COMPARISON).shape == (3,)


def test_devices_must_agree() -> None:
    meta = gb.zeros(3, device="meta")
    with pytest.raises(RuntimeError, match=r"cpu and meta|meta and cpu"):
        plan(gb.zeros(3), meta)
    assert plan(gb.zeros(()), meta, allow_cpu_scalars=True).device.type == "meta"


def test_linear_iteration_keeps_logical_order() -> None:
    x = gb.zeros(3, 4).t()
    assert plan(x).perm is None
    built = plan(x, gb.zeros(4, 1), enforce_linear_iteration=True)
    assert built.perm == (1, 0)


def test_explain_shows_each_step() -> None:
    text = plan(gb.zeros(3, 4), gb.zeros(4, dtype=gb.int32), 2, config=BINARY).explain()
    words = ("broadcast", "types", "common dtype float32", "strides", "reorder", "perm [1, 0]", "coalesce", "number 2")
    for word in words:
        assert word in text
    assert "fast setup" in plan(gb.zeros(3), gb.zeros(3)).explain()


def test_reduction_puts_reduced_dims_first() -> None:
    out = gb.zeros(4)
    built = plan(gb.zeros(3, 4), outputs=(out.as_strided((3, 4), (0, 1)),), is_reduction=True, check_mem_overlap=False)
    assert built.shape == (3, 4) and built.strides[0] == (0, 4)


def test_restrided_operands_are_reordered_and_coalesced() -> None:
    float32, int64 = gb.float32, gb.int64
    built = TensorIterator.restrided((2, 3, 4), [(4, 8, 24), (0, 8, 24), (0, 0, 8)], [float32, float32, int64])
    assert built.shape == (2, 3, 4) and built.strides == ((4, 8, 24), (0, 8, 24), (0, 0, 8))
    flat = TensorIterator.restrided((3, 4), [(16, 4), (16, 4)], [float32, float32])
    assert flat.shape == (12,) and flat.dims == [(12, 4, 4)]
    reversed_rows = TensorIterator.restrided((3, 4), [(16, 4), (-16, 4)], [float32, float32])
    assert reversed_rows.shape == (4, 3) and reversed_rows.dims == [(4, 4, 4), (3, 16, -16)]
    assert TensorIterator.restrided((4, 3), [(4, 16)], [float32]).shape == (12,)
    assert TensorIterator.restrided((4, 3), [(4, 16)], [float32], linear=True).dims == [(3, 16), (4, 4)]
    assert TensorIterator.restrided((1, 1), [(0, 0)], [float32]).dims == []
    assert TensorIterator.restrided((), [()], [float32]).dims == []
    text = reversed_rows.explain()
    for word in ("operand 1: float32, restrided", "strides", "perm [1, 0]", "coalesce", "-16"):
        assert word in text


LOOPS = {
    "gather": lambda x: gb.gather(x, 0, gb.zeros(2, 3, dtype=gb.int64)),
    "scatter": lambda x: gb.scatter(x, 0, gb.zeros(2, 3, dtype=gb.int64), x),
    "flip": lambda x: gb.flip(x, (0,)),
    "roll": lambda x: gb.roll(x, 1),
    "copy": lambda x: gb.empty(3, 2).copy_(x.t()),
    "cat": lambda x: gb.cat((x, x)),
    "pooling": lambda x: gb.nn.functional.max_pool1d(x, 2),
    "padding": lambda x: gb.nn.functional.pad(x[None], (1, 1), mode="reflect"),
    "resampling": lambda x: gb.nn.functional.interpolate(x[None], size=2, mode="linear"),
    "bytes": lambda x: gb.nn.functional.interpolate(x.to(gb.uint8)[None, None], (4, 4), mode="bilinear"),
    "antialiasing": lambda x: gb.nn.functional.interpolate(x[None, None], (2, 2), mode="bilinear", antialias=True),
    "patches": lambda x: gb.nn.functional.fold(x.reshape(1, 1, 6), (2, 3), 1),
    "reduction": lambda x: gb.sum(x, 0),
    "extreme": lambda x: gb.argmax(x, 0),
    "scan": lambda x: gb.cumsum(x, 0),
    "rows": lambda x: gb.softmax(x, 1),
    "triangle": lambda x: gb.tril(x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_every_strided_loop_goes_through_the_iterator(name: str) -> None:
    text = str(gb.explain(lambda: LOOPS[name](gb.arange(6.0).reshape(2, 3))))
    assert "iteration  operand 0: " in text and "reorder" in text


def test_no_other_module_orders_or_merges_dims() -> None:
    package = Path(gb.__file__).parent
    for path in sorted((package / "operators").rglob("*.py")):
        assert "coalesce_dimensions" not in path.read_text() and "reorder_dimensions" not in path.read_text(), path


def test_unknown_switch_is_refused() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        plan(gb.zeros(3), nonsense=True)
    assert IteratorConfig().check_mem_overlap
