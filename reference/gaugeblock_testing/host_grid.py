"""The grid on the host: the same kernel text, compiled for this processor, called for every thread of every block.

What is tested so is everything but LLVM's NVPTX back end: the layouts, the tails, the division of indices, and the
lowering of formulas to lanes of width 1.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock.cuda.ptx.grid_kernel import Parameter
from gaugeblock.cuda.ptx.launching import PreparedLaunch, grid_text
from gaugeblock.cuda.ptx.layout import Ints, Layout
from gaugeblock.cuda.ptx.target import BLOCK, Target
from gaugeblock.kernels.code import NAME, Code
from gaugeblock.kernels.compiler import compiler
from gaugeblock.kernels.isa import current_level
from gaugeblock.kernels.pointwise import PointwiseKernel


@functools.cache
def host_target() -> Target:
    """This processor, at the instruction-set level in use."""
    level = current_level()
    return Target("host", 0, level._replace(name=f"grid {level.name}", vector_bytes=1), "")


def grid_walk(parameters: Sequence[Parameter]) -> str:
    """@NAME(arguments, blocks, threads): the kernel's thread function for each thread; `arguments` point to values."""
    code = Code()
    given = []
    for place, parameter in enumerate(parameters):
        value = code.load("ptr", code.slot("%arguments", place))
        given.append(f"{parameter.declared} {value if parameter.type[0] == '[' else code.load(parameter.type, value)}")
    with code.loop(0, "%blocks") as block, code.loop(0, "%threads") as thread:
        numbers = [code.register(f"trunc i64 {n} to i32") for n in (thread, block, "%threads", "%blocks")]
        code.line(f"call void @{NAME}_thread({', '.join([*given, *(f'i32 {number}' for number in numbers)])})")
    return code.function(f"define void @{NAME}(ptr %arguments, i64 %blocks, i64 %threads)", "  ret void")


@functools.lru_cache(maxsize=256)
def _compiled(kernel: PointwiseKernel, layout: Layout) -> Any:
    written = grid_text(kernel, layout, host_target())
    address = compiler().load_text(f"{grid_walk(written.parameters)}\n{written.text}")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)


_VALUES = {"i32": ctypes.c_uint32, "double": ctypes.c_double}
"""The ctypes of parameters, i64 and pointers aside."""
Sizes = tuple[int, int, int]


def stand_in(kernel: PointwiseKernel, layout: Layout) -> Callable[[Sizes, Sizes, int, Sequence[Any]], None]:
    """Return the function of grid, block, shared bytes and values that the simulated driver runs in place of PTX."""
    types = [parameter.type for parameter in grid_text(kernel, layout, host_target()).parameters]

    def walk(grid: Sizes, block: Sizes, shared_bytes: int, values: Sequence[Any]) -> None:
        given = [
            value if type[0] == "[" else _VALUES.get(type, ctypes.c_uint64)(value)
            for type, value in zip(types, values, strict=True)
        ]
        _walk(kernel, layout, given, grid[0], block[0])

    return walk


def _walk(kernel: PointwiseKernel, layout: Layout, arguments: Sequence[Any], blocks: int, threads: int) -> None:
    pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    _compiled(kernel, layout)(pointers, blocks, threads)


def run(
    kernel: PointwiseKernel,
    shape: Ints,
    strides: Sequence[Ints],
    values: Sequence[Any],
    *,
    multiprocessors: int = 1,
    blocks: int | None = None,
    fault: int = 0,
) -> None:
    """Run a kernel over memory of the host: arguments as of ptx.launch_plan, addresses of the host.

    `blocks` takes the place of the grid's size, so that a small grid walks over many elements.
    """
    prepared = PreparedLaunch(kernel, tuple(shape), tuple(strides), host_target(), multiprocessors)
    layout, most, arguments = prepared.on_grid(values, fault)
    _walk(kernel, layout, arguments, blocks or most, BLOCK)
