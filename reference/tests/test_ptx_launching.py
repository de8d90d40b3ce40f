"""Launch plans: image, function, grid and arguments for a kernel over an iteration space."""

from __future__ import annotations

import ctypes
import re

import pytest
from gaugeblock.core.dtype import BY_NAME, bool_, float16, float32, int8, int64
from gaugeblock.cuda import ptx
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.pointwise import formula_kernel
from gaugeblock_testing.ptxas import assemble, find_ptxas

ADD = formula_kernel("add", (float32, float32), float32, float32)
FLAT = [(4,)] * 3


def text(plan: ptx.LaunchPlan) -> str:
    """The PTX, loads and stores spelt by their width alone: LLVM's versions differ in it."""
    return re.sub(r"\b((?:ld|st)\.global(?:\.v\d)?\.)[fu](?=\d)", r"\1b", plan.image.decode())


def test_contiguous_addition_is_assembled_with_wide_loads() -> None:
    plan = ptx.launch_plan(ADD, (1027,), FLAT, [0x1000, 0x9000, 0x11000])
    assert plan.image.endswith(b"\0")
    assert f".entry {plan.name}(" in text(plan)
    assert ".target sm_80" in text(plan)
    assert text(plan).count("ld.global.v4.b32") == 2
    assert text(plan).count("st.global.v4.b32") == 1
    assert (plan.grid, plan.block, plan.shared_bytes) == ((2, 1, 1), (256, 1, 1), 0)
    assert [argument.value for argument in plan.arguments] == [0x1000, 0x9000, 0x11000, 1027]
    if find_ptxas() is None:
        pytest.skip("ptxas is not installed: the image was generated, not assembled")
    assert assemble(plan.image)[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    ("capability", "target"), [((7, 5), "sm_75"), ((8, 7), "sm_86"), ((9, 0), "sm_90"), ((10, 3), "sm_100")]
)
def test_target_follows_the_capability(capability: tuple[int, int], target: str) -> None:
    plan = ptx.launch_plan(ADD, (1027,), FLAT, [0, 0, 0], capability=capability)
    assert f".target {target}\n" in text(plan)


def test_old_devices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"compute capability of 7.0 or above, got \(6, 1\)"):
        ptx.launch_plan(ADD, (1027,), FLAT, [0, 0, 0], capability=(6, 1))


@pytest.mark.parametrize(("offset", "load"), [(16, "v4.b32"), (8, "v2.b32"), (4, "b32"), (12, "b32")])
def test_loads_are_as_wide_as_addresses_allow(offset: int, load: str) -> None:
    plan = ptx.launch_plan(ADD, (1024,), FLAT, [0x1000, 0x2000 + offset, 0x3000])
    widest = max((line.split()[0] for line in text(plan).splitlines() if "ld.global" in line), key=len)
    assert widest == f"ld.global.{load}"


def test_an_input_of_one_element_is_read_once() -> None:
    plan = ptx.launch_plan(ADD, (4096,), [(4,), (4,), (0,)], [0x1000, 0x2000, 0x3004])
    assert text(plan).count("ld.global.v4.b32") == 1
    assert "param_4" not in text(plan)


def test_strides_are_passed_with_multipliers() -> None:
    plan = ptx.launch_plan(ADD, (5, 7), [(4, 20), (28, 4), (0, 4)], [0x1000, 0x2000, 0x3000])
    assert list(plan.arguments[-1]) == [5, 2576980378, 3, 4, 20, 28, 4, 0, 4]
    assert plan.arguments[-2].value == 35
    assert "div" not in text(plan)


@pytest.mark.parametrize(
    ("shape", "strides", "loads", "width"),
    [
        ((8, 7), [(4, 32), (4, 32), (4, 0)], ["v4.b32", "v4.b32"], 4),  # a row for all rows
        ((8, 7), [(4, 32), (4, 48), (0, 4)], ["v4.b32", "b32"], 4),  # rows with gaps, a column
        ((8, 7), [(4, 32), (4, 40), (4, 32)], ["v2.b32", "v2.b32"], 2),  # gaps of 8 bytes
        ((6, 7), [(4, 24), (4, 24), (4, 0)], ["v2.b32", "v2.b32"], 2),
        ((5, 7), [(4, 20), (4, 20), (4, 0)], ["b32", "b32"], 1),
        ((8, 7), [(4, 32), (4, 36), (4, 32)], ["b32", "b32"], 1),
        ((8, 7), [(28, 4), (4, 32), (4, 32)], ["b32", "b32"], 1),  # the result lies apart
        ((8, 7), [(4, 32), (4, 48), (28, 4)], ["v4.b32", "b32", "b32", "b32", "b32"], 4),  # an input lies apart
        ((8, 7), [(4, 48), (4, 32), (0, 0)], ["v4.b32", "b32"], 4),
    ],
)
def test_rows_are_read_and_written_wide(
    shape: tuple[int, ...], strides: list[tuple[int, ...]], loads: list[str], width: int
) -> None:
    plan = ptx.launch_plan(ADD, shape, strides, [0x1000, 0x2000, 0x3000])
    found = [line.split()[0] for line in text(plan).splitlines() if line.strip(" \0")]
    assert sorted(one for one in found if "ld.global" in one) == sorted(f"ld.global.{load}" for load in loads)
    store = "st.global.b32" if width == 1 else f"st.global.v{width}.b32"
    assert [one for one in found if "st.global" in one] == [store]
    assert plan.arguments[-2].value == shape[0] * shape[1] // width
    if find_ptxas() is not None:
        assert assemble(plan.image)[:4] == b"\x7fELF"


def test_rows_are_as_wide_as_addresses_allow() -> None:
    rows = [(4, 32), (4, 32), (0, 4)]
    for address, width in ((0x1000, 4), (0x1008, 2), (0x1004, 1)):
        plan = ptx.launch_plan(ADD, (8, 7), rows, [0x8000, address, 0x2004])
        assert [plan.arguments[-2].value, plan.arguments[-1][0]] == [56 // width, 8 // width]


def test_an_input_of_one_element_is_read_before_the_rows() -> None:
    plan = ptx.launch_plan(ADD, (8, 7), [(4, 48), (4, 32), (0, 0)], [0x1000, 0x2000, 0x3004])
    assert text(plan).index("ld.global.b32") < text(plan).index("ld.global.v4.b32")
    assert text(plan).index("ld.global.b32") < text(plan).index("$L__BB0_2:")


def test_indices_have_64_bits_where_32_do_not_reach() -> None:
    shape, strides = (1 << 20, 3), [(4, 1 << 33), (4, 1 << 33), (0, 4)]
    plan = ptx.launch_plan(ADD, shape, strides, [0, 0, 0])
    assert isinstance(plan.arguments[-1], ctypes.Array)
    assert list(plan.arguments[-1]) == [1 << 18, 4, 1 << 33, 4, 1 << 33, 0, 4]
    assert isinstance(plan.arguments[-2], ctypes.c_uint64)
    assert plan.arguments[-2].value == 3 << 18
    long = ptx.launch_plan(ADD, (1 << 30,), FLAT, [0, 0, 0])
    assert isinstance(long.arguments[-1], ctypes.c_uint64)


def test_the_grid_is_bounded_by_the_device() -> None:
    assert ptx.launch_plan(ADD, (1 << 28,), FLAT, [0, 0, 0], multiprocessors=10).grid == (320, 1, 1)
    assert ptx.launch_plan(ADD, (0,), FLAT, [0, 0, 0]).grid == (1, 1, 1)


def number_kernel(dtype: str) -> PointwiseKernel:
    return formula_kernel("add", (BY_NAME[dtype], Immediate(BY_NAME[dtype])), BY_NAME[dtype], BY_NAME[dtype])


@pytest.mark.parametrize(
    ("dtype", "number", "raw"),
    [
        ("float32", 2.5, [2.5]),
        ("int8", 300, [300]),
        ("uint64", 2**64 - 1, [2**64 - 1]),
        ("bool", True, [1]),
        ("complex64", 1 + 2j, [1.0, 2.0]),
    ],
)
def test_numbers_are_parameters(dtype: str, number: complex, raw: list[float]) -> None:
    plan = ptx.launch_plan(number_kernel(dtype), (9,), [(BY_NAME[dtype].itemsize,)] * 2, [0, 0, number])
    assert [argument.value for argument in plan.arguments[2:-1]] == raw


def test_a_guard_takes_the_address_of_faults() -> None:
    kernel = formula_kernel("floor_divide", (int64, int64), int64, int64)
    plan = ptx.launch_plan(kernel, (9,), [(8,)] * 3, [0, 0, 0], fault=0x5000)
    assert plan.arguments[-1].value == 0x5000
    assert "st.global.b32" in text(plan)


def test_bad_calls_say_what_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"add\(float32, float32\) expected 3 values, got 2"):
        ptx.launch_plan(ADD, (8,), FLAT, [0, 0])
    with pytest.raises(ValueError, match="strides of 1 dims for 3 operands"):
        ptx.launch_plan(ADD, (8,), [(4,), (4, 4), (4,)], [0, 0, 0])
    with pytest.raises(OverflowError, match="does not fit 64 bits"):
        ptx.launch_plan(number_kernel("int64"), (8,), [(8,)] * 2, [0, 0, 1 << 64])
    shape = (2,) * 120
    with pytest.raises(ValueError, match="more than 4096 bytes of parameters"):
        ptx.prepare(formula_kernel("where", (bool_, float16, float16), float16, float16), shape, (shape,) * 4)


def test_heavy_formulas_take_fewer_elements() -> None:
    light = ptx.prepare(formula_kernel("abs", (int8,), int8, int8), (99,), ((1,),) * 2)
    heavy = ptx.prepare(formula_kernel("special_ndtri", (float16,), float16, float16), (99,), ((2,),) * 2)
    assert (light.layout.width, heavy.layout.width) == (16, 1)
