"""Every pointwise operator on the grid: the bits of the CPU's kernel; its PTX, emulated, and assembled where ptxas is.

All dtypes in all layouts take some minutes (GAUGEBLOCK_PTX=all, `nox -s ptx`); otherwise each operator is tried with
float32 and with one dtype of each class, which one changing from operator to operator.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import BY_NAME
from gaugeblock.cuda.ptx.launching import PreparedLaunch, back_end, grid_text
from gaugeblock.cuda.ptx.target import device_target
from gaugeblock.operators.pointwise import Call, arguments, fitted, plan_call
from gaugeblock.operators.pointwise_operators import RULES, call_builder
from gaugeblock.operators.rows import Row, rows
from gaugeblock.tensor.tensor import new_like
from gaugeblock_spec.schema import parse
from gaugeblock_testing import host_grid
from gaugeblock_testing.ptx_emulator import Machine
from gaugeblock_testing.ptxas import assemble, find_ptxas

ALL = os.environ.get("GAUGEBLOCK_PTX") == "all"
NAMES = sorted(RULES)
CLASSES = (
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    ("float16", "bfloat16"), ("complex64", "complex128"), ("float64",), ("bool",),
)  # fmt: skip
KEYWORDS = {"alpha": 2, "value": 2, "rounding_mode": "floor", "decimals": 1, "approximate": "tanh"}
NUMBERS = {"Scalar": 2, "bool": False, "float": 0.25, "int": 2}
TARGET = device_target((8, 0))
SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 6e-8, 0.5, 100.0)


def dtypes(row: Row, classes: int) -> list[str]:
    """float32, complex32 where it is taken, and a dtype of each of some classes; all dtypes when all are asked for."""
    if ALL:
        return list(RULES[row.name].names)
    turn = NAMES.index(row.name)
    found = [name for name in ("float32", "complex32") if name in RULES[row.name].names]
    held = [[name for name in names if name in row.dtypes] for names in CLASSES]
    others = [names[turn % len(names)] for names in held if names]
    first = turn % max(1, len(others))
    return found + (others[first:] + others[:first])[:classes]


def tensor(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Random elements: special values among floats, no zeros among ints, which may be divisors."""
    count = int(np.prod(shape))
    if dtype == "bool":
        values = (rng.random(count) < 0.5).tolist()
    elif "int" in dtype:
        values = (rng.integers(1, 10, count) * (1 if dtype[0] == "u" else rng.choice([-1, 1], count))).tolist()
    else:
        real = rng.standard_normal(count) * 3
        real[: len(SPECIAL)] = rng.permutation(SPECIAL)[:count]
        values = (real + 1j * rng.standard_normal(count) if dtype[0] == "c" else real).tolist()
    return gb.tensor(values, dtype=BY_NAME[dtype]).reshape(shape)


def given_of(row: Row, dtype: str, strided: bool, device: str = "cpu") -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: contiguous tensors on `device`, or transposed and broadcast ones."""
    rng = np.random.default_rng(1)
    given: list[Any] = []
    for argument in parse(row.schema).positional:
        if argument.name == "alpha":
            continue
        kind = "bool" if argument.name == "condition" else dtype
        if argument.base_type != "Tensor":
            given.append(NUMBERS[argument.base_type])
        elif not strided:
            given.append(tensor(rng, (67,), kind).to(device))
        else:
            first = not any(isinstance(one, gb.Tensor) for one in given)
            shape, order = ((5, 4, 6), (2, 1, 0)) if first else ((4, 10), (0, 1))
            given.append(tensor(rng, shape, kind).to(device)[..., ::2].permute(*order))
    return given, {one.name: KEYWORDS[one.name] for one in parse(row.schema).keyword_only}


def call_of(row: Row, dtype: str, strided: bool) -> Call:
    """A call on the arguments of `given_of`."""
    given, keywords = given_of(row, dtype, strided)
    call: Call = call_builder(row.name)(*given, **keywords)
    return call


def launch_of(row: Row, dtype: str, strided: bool) -> tuple[Any, Any, Call]:
    """The launch of a call, the meta of its result, and the call."""
    call = call_of(row, dtype, strided)
    plan = plan_call(RULES[row.name], call, None, inplace=False)
    assert plan.launch is not None
    return plan.launch, plan.meta, fitted(RULES[row.name], call, plan.common) if call.extras or call.fit else call


def parts(result: Any) -> list[np.ndarray[Any, Any]]:
    """The real components, exactly."""
    if result.is_complex():
        return [result.real.numpy(), result.imag.numpy()]
    return [result.to(gb.float64).numpy() if result.dtype.is_floating_point else result.numpy()]


def check(dtype: str, own: Any, other: Any) -> None:
    """The same bits, NaN being NaN."""
    found, wanted = parts(own), parts(other)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=dtype)
        if a.dtype.kind == "f" and dtype not in ("complex32", "complex64"):
            assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all(), dtype


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("strided", [False, True], ids=["flat", "strided"])
def test_grids_compute_what_the_cpu_does(name: str, strided: bool) -> None:
    for dtype in dtypes(rows()[name], 2):
        launch, meta, call = launch_of(rows()[name], dtype, strided)
        assert launch.contiguous is not strided
        own, other = new_like(meta), new_like(meta)
        launch.run([other.pointer, *arguments(call)])
        host_grid.run(launch.kernel, launch.shape, launch.strides, [own.pointer, *arguments(call)])
        check(dtype, own, other)


@functools.cache
def written(name: str, dtype: str, strided: bool) -> str:
    """PTX of an operator, written anew."""
    launch, _, _ = launch_of(rows()[name], dtype, strided)
    layout = PreparedLaunch(launch.kernel, launch.shape, tuple(launch.strides), TARGET, 132).layout
    return back_end().assembly(grid_text(launch.kernel, layout, TARGET).text, "kernel", TARGET)


def cases(name: str, classes: int) -> list[tuple[str, bool]]:
    """Dtypes and layouts: both for each, or by turns."""
    found = dtypes(rows()[name], classes)
    if ALL:
        return [(dtype, strided) for dtype in found for strided in (False, True)]
    return [(dtype, place % 2 == 1) for place, dtype in enumerate(found)]


@pytest.mark.parametrize("name", NAMES)
def test_ptx_is_written(name: str) -> None:
    for dtype, strided in cases(name, 3):
        text = written(name, dtype, strided)
        assert text.count(".entry kernel(") == 1
        assert ".extern" not in text, dtype


@pytest.mark.parametrize("name", NAMES)
def test_ptx_computes_what_the_cpu_does(name: str) -> None:
    """Run by the emulator: what LLVM's back end makes of a kernel, and how its parameters are laid out."""
    turn = NAMES.index(name)
    tried = cases(name, len(CLASSES))
    for dtype, strided in tried if ALL else [tried[turn % len(tried)]]:
        launch, meta, call = launch_of(rows()[name], dtype, strided)
        own, other = new_like(meta), new_like(meta)
        launch.run([other.pointer, *arguments(call)])
        prepared = PreparedLaunch(launch.kernel, launch.shape, tuple(launch.strides), TARGET, 132)
        layout, _, given = prepared.on_grid([own.pointer, *arguments(call)])
        assert layout == prepared.layout
        Machine(written(name, dtype, strided).encode()).run("kernel", (2, 1, 1), (16, 1, 1), given)
        check(dtype, own, other)


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed (nvidia-cuda-nvcc-cu12 has it)")
@pytest.mark.parametrize("name", NAMES)
def test_ptx_is_assembled(name: str) -> None:
    for dtype, strided in cases(name, 1):
        assert assemble(written(name, dtype, strided).encode())[:4] == b"\x7fELF"
