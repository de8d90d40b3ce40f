"""Functions with loops, and numbers taken apart and put together: at their edges PTX gives the bits of the CPU."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import BY_NAME
from gaugeblock.cuda.operators.pointwise import COMPONENTS, KERNELS, Loop, pointwise_loop
from gaugeblock.cuda.ptx.launching import PreparedLaunch, back_end, grid_text
from gaugeblock.cuda.ptx.target import device_target
from gaugeblock.operators.invoke import apply
from gaugeblock.operators.rows import rows
from gaugeblock_testing import host_grid
from gaugeblock_testing.ptx_emulator import Machine
from gaugeblock_testing.ptxas import assemble, find_ptxas

TARGET = device_target((8, 0))
WITH_LOOPS = ("igamma", "zeta", "polygamma", "chebyshev", "shifted", "hermite", "laguerre", "legendre")
NAMES = [name for name in rows() if name in COMPONENTS or name.removeprefix("special_").startswith(WITH_LOOPS)]
OF_OTHERS = {"float_power", "isreal", "mvlgamma", "special_multigammaln"}
"""Made of other pointwise operators, on every device."""
NAN, INF = float("nan"), float("inf")
FIRST: dict[str, list[float]] = {
    "igamma": [0.5, 3, 12, 40, 150, 2e5, 2e5, 0, 2, INF, -1, 3, 3, 0.01],
    "zeta": [1.5, 2, 3, 12, 40, 2, 3, 2, 1, 0.5, INF, NAN, 2.5, 7],
    "polynomial": [0.3, -0.7, 1.5, -2.25, 0.95, -1, 1, 0, 0.25, 1.001, NAN, INF, 0.6, -0.1],
    "polygamma": [0.3, -0.7, 1.5, -2.25, 12, -1, 1, 0, 0.25, 40, NAN, INF, 0.6, -3.5],
}
SECOND: dict[str, list[float]] = {
    "igamma": [0.25, 5, 11, 60, 140, 2e5 + 300, 1e5, 1, 0, 2, 2, INF, NAN, 1.05],
    "zeta": [0.5, 1, 2.5, 30, 2, -1.5, -2.5, -3, 2, 2, 2, 1, -0.5, 0.125],
    "polynomial": [0, 1, 2, 3, 4, 5, 6, 7, 12, 600, 3, 2, -1, 20.75],
}


def operands(name: str, dtype: str) -> list[Any]:
    """Arguments with edges among them, Python numbers where the overload takes them."""
    kind = next((kind for kind in FIRST if kind in name), "polynomial")
    if name.startswith("igammac"):
        kind = "igamma"
    first, second = FIRST[kind], SECOND.get(kind, SECOND["polynomial"])
    if dtype == "int32":
        first, second = [1, 2, 3, 4, 5, 9], [2, 1, 3, 5, 2, 4]
    tensors = [gb.tensor(values, dtype=BY_NAME[dtype]) for values in (first, second)]
    if "polygamma" in name:
        return [3, tensors[0]]
    if name.endswith(("x_scalar", "self_scalar")):
        return [2.5, tensors[1]]
    if name.endswith(("n_scalar", "other_scalar")):
        return [tensors[0], 3]
    return tensors[:1] if name.startswith("frexp") else tensors


def call(name: str, given: list[Any]) -> list[Any]:
    """The results of the CPU's kernel."""
    found = apply(name, *given)
    return list(found) if isinstance(found, tuple) else [found]


def loop_for(name: str, given: list[Any], results: list[Any]) -> Loop:
    loop = pointwise_loop(name, tuple(given), {}, results)
    assert loop is not None
    return loop


def prepared(loop: Loop) -> PreparedLaunch:
    return PreparedLaunch(loop.launch.kernel, loop.launch.shape, tuple(loop.launch.strides), TARGET, 132)  # type: ignore[arg-type]


def ptx(loop: Loop) -> bytes:
    """PTX of a loop's kernel, written anew."""
    written = grid_text(loop.launch.kernel, prepared(loop).layout, TARGET)  # type: ignore[arg-type]
    return back_end().assembly(written.text, "kernel", TARGET).encode()


def check(name: str, own: list[Any], wanted: list[Any]) -> None:
    """Equal; NaN is NaN."""
    for a, b in zip(own, wanted, strict=True):
        parts = [gb.view_as_real(one) if one.dtype is gb.complex32 else one for one in (a, b)]
        np.testing.assert_array_equal(parts[0].numpy(), parts[1].numpy(), err_msg=name)


def dtypes(name: str) -> list[str]:
    return [one for one in ("float64", "float32", "float16", "int32") if one in rows()[name].dtypes]


@pytest.mark.parametrize("name", NAMES)
def test_grids_compute_what_the_cpu_does(name: str) -> None:
    for dtype in dtypes(name):
        given = operands(name, dtype)
        wanted = call(name, given)
        own = [gb.empty_like(one) for one in wanted]
        loop = loop_for(name, given, own)
        host_grid.run(loop.launch.kernel, loop.launch.shape, loop.launch.strides, loop.values)  # type: ignore[arg-type]
        check(name, own, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_ptx_computes_what_the_cpu_does(name: str) -> None:
    given = operands(name, "float32")
    given = [one[:12:3] if isinstance(one, gb.Tensor) else one for one in given]
    wanted = call(name, given)
    own = [gb.empty_like(one) for one in wanted]
    loop = loop_for(name, given, own)
    Machine(ptx(loop)).run("kernel", (1, 1, 1), (4, 1, 1), prepared(loop).on_grid(loop.values)[2])
    check(name, own, wanted)


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed (nvidia-cuda-nvcc-cu12 has it)")
@pytest.mark.parametrize("name", [name for name in NAMES if "scalar" not in name])
def test_ptx_is_assembled(name: str) -> None:
    given = operands(name, "float64")
    loop = loop_for(name, given, [gb.empty_like(one) for one in call(name, given)])
    assert assemble(ptx(loop))[:4] == b"\x7fELF"


def test_every_pointwise_operator_has_ptx() -> None:
    without = {row.base for name, row in rows().items() if row.family == "pointwise" and name not in KERNELS}
    assert without == OF_OTHERS


@pytest.mark.parametrize("order", [0, 1, 2, 170, 171, 2**50])
def test_orders_of_polygamma(order: int) -> None:
    x = gb.tensor(FIRST["polygamma"], dtype=gb.float64)
    own = gb.empty_like(x)
    loop = loop_for("polygamma", [order, x], [own])
    host_grid.run(loop.launch.kernel, loop.launch.shape, loop.launch.strides, loop.values)  # type: ignore[arg-type]
    check("polygamma", [own], [gb.polygamma(order, x)])
