"""PTX images of grid kernels: IR compiled by LLVM for NVPTX, kept on disk by content as the CPU's objects are."""

from __future__ import annotations

import ctypes
import functools
import operator
import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ...core.fork_safety import fork_safe
from ...kernels.body import Body, record
from ...kernels.code import NAME, Declarations
from ...kernels.expression import all_nodes
from ...kernels.isa import llvm
from ...kernels.object_cache import cache_folder, digest
from ...kernels.pointwise import PointwiseKernel
from .grid_kernel import GridWriter, Parameter, parameters
from .layout import Ints, Layout, fitting_width, layout_of, meta
from .target import BLOCK, DEFAULT_CAPABILITY, TRIPLE, Capability, Target, device_target


class Image(NamedTuple):
    """A module's PTX text, ended by a zero byte as the driver's loader takes it, and the name of its one kernel."""

    data: bytes
    name: str


class GridText(NamedTuple):
    """IR text of a kernel, called NAME, and its parameters."""

    text: str
    parameters: tuple[Parameter, ...]


@functools.lru_cache(maxsize=16)
def body_of(kernel: PointwiseKernel, target: Target) -> Body:
    """The recorded loop body; the same kernel is mostly asked for in several layouts one after the other."""
    return record(kernel.formula, kernel.operands, kernel.compute, kernel.results, target.level)


def grid_text(kernel: PointwiseKernel, layout: Layout, target: Target) -> GridText:
    """The text of a kernel in a layout for a target."""
    body = body_of(kernel, target)
    declarations = Declarations(space=target.space, parted=False)
    function = GridWriter(body, layout, target, declarations).text()
    text = f"{function}\n{declarations.text(target.level.attributes)}"
    return GridText(text, tuple(parameters(body, layout, target)))


class BackEnd:
    """The NVPTX part of LLVM, set up when it is first needed; thread-safe."""

    def __init__(self) -> None:
        import llvmlite

        self._llvm = llvm()
        self._llvm.initialize_all_targets()
        self._llvm.initialize_all_asmprinters()
        self._lock = fork_safe(threading.RLock())
        self._machines: dict[Target, Any] = {}
        self.cache = cache_folder()
        self.salt = f"ptx {llvmlite.__version__} {self._llvm.llvm_version_info}"

    def assembly(self, text: str, name: str, target: Target) -> str:
        """PTX of a module given as IR text, whose kernel gets a name; compiled now."""
        with self._lock:
            machine = self._machines.get(target)
            if machine is None:
                triple = self._llvm.Target.from_triple(TRIPLE)
                machine = triple.create_target_machine(cpu=target.name, features=f"+ptx{target.ptx}", opt=3)
                self._machines[target] = machine
            module = self._llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{text.replace(NAME, name)}')
            module.data_layout = str(machine.target_data)
            return str(machine.emit_assembly(module))


@functools.cache
def back_end() -> BackEnd:
    """The one of this process."""
    return BackEnd()


def compiled(written: GridText, target: Target) -> Image:
    """The image of a kernel for a device target, taken from the cache or compiled now."""
    found = back_end()
    key = digest(f"{found.salt} {target.name} {target.ptx}\n{written.text}".encode()).hex()
    name = f"gb_{key[:32]}"
    data = found.cache.read(f"{key}.o")
    if data is None:
        data = found.assembly(written.text, name, target).encode() + b"\0"
        found.cache.write(f"{key}.o", data)
    return Image(data, name)


@functools.lru_cache(maxsize=1024)
def image_of(kernel: PointwiseKernel, layout: Layout, target: Target) -> Image:
    """The image of a kernel in a layout; memoised."""
    return compiled(grid_text(kernel, layout, target), target)


MAX_PARAMETER_BYTES = 4096
BLOCKS_PER_MULTIPROCESSOR = 32
"""Blocks of a grid for each multiprocessor at most: what is left is walked in strides of the whole grid."""
MAX_NODES = 1024
"""Recorded lanes times elements per step, beyond which a kernel takes fewer elements: it is bound by arithmetic."""


class LaunchPlan(NamedTuple):
    """The arguments of Driver.module_load, module_function and launch: `arguments` are ctypes values."""

    image: bytes
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[Any, ...]


def _integer(value: Any, bits: int = 64) -> list[Any]:
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << bits:
        raise OverflowError(f"ptx: the number {number} does not fit 64 bits")
    return [ctypes.c_int64(number)]  # modulo 2**64


_NUMBERS: dict[str, Callable[[Any], list[Any]]] = {
    "b": lambda value: [ctypes.c_int64(bool(value))],
    "n": lambda value: _integer(value, 63),
    "i": _integer,
    "u": lambda value: [ctypes.c_uint64(_integer(value)[0].value)],
    "d": lambda value: [ctypes.c_double(value)],
    "c": lambda value: [ctypes.c_double(complex(value).real), ctypes.c_double(complex(value).imag)],
}
"""Raw values of a Python number, by the kinds of pointwise_entry.Signature."""


class PreparedLaunch:
    """A kernel in one iteration space, for any addresses and numbers: `plan(values)`."""

    __slots__ = (
        "count", "guarded", "images", "itemsizes", "kernel", "kinds", "layout", "limit", "mixed", "shape", "strides",
        "tails", "target",
    )  # fmt: skip

    def __init__(
        self, kernel: PointwiseKernel, shape: Ints, strides: tuple[Ints, ...], target: Target, multiprocessors: int
    ) -> None:
        body = body_of(kernel, target)
        self.kernel = kernel
        self.target = target
        self.limit = multiprocessors * BLOCKS_PER_MULTIPROCESSOR
        self.count = prod(shape)
        self.guarded = body.guarded
        self.itemsizes = [operand.itemsize for operand in body.memory]
        self.kinds = ["m"] * len(body.outputs)
        self.kinds += kernel.signature.kinds
        self.mixed = any(kind != "m" for kind in self.kinds)
        if len(strides) != len(self.itemsizes) or any(len(steps) != len(shape) for steps in strides):
            raise ValueError(
                f"ptx: expected strides of {len(shape)} dims for {len(self.itemsizes)} operands in memory of "
                f"{kernel.title}, outputs first, got {list(strides)}"
            )
        self.layout = layout_of(shape, strides, self.itemsizes, len(body.outputs))
        exprs = sum(1 for _ in all_nodes([expr for stored in body.stored for expr in stored]))
        while self.layout.width > 1 and self.layout.width * exprs > MAX_NODES:
            self.layout = self.layout.of_width(self.layout.width // 2)
        self.shape = shape
        self.strides = strides
        self.tails: dict[int, list[Any]] = {}
        if 16 * len(self.kinds) + 16 + sum(map(ctypes.sizeof, self._tail(self.layout.width))) > MAX_PARAMETER_BYTES:
            raise ValueError(f"ptx: {kernel.title} over {len(shape)} dims needs more than 4096 bytes of parameters")
        self.images: dict[int, tuple[bytes, str, tuple[int, int, int]]] = {}

    def plan(self, values: Sequence[Any], fault: int = 0) -> LaunchPlan:
        """The launch for addresses (ints) and Python numbers in the order outputs, operands. `fault` is the address of
        an i32 that is set to 1 when an integer is divided by zero, 0 for none."""
        width, arguments = self._arguments(values, fault)
        found = self.images.get(width)
        if found is None:
            image = image_of(self.kernel, self.layout.of_width(width), self.target)
            found = self.images[width] = (*image, (self._blocks(width), 1, 1))
        data, name, grid = found
        return LaunchPlan(data, name, grid, (BLOCK, 1, 1), 0, arguments)

    def on_grid(self, values: Sequence[Any], fault: int = 0) -> tuple[Layout, int, tuple[Any, ...]]:
        """The kernel's layout, the number of blocks, and ctypes values in the order of the parameters."""
        width, arguments = self._arguments(values, fault)
        return self.layout.of_width(width), self._blocks(width), arguments

    def _tail(self, width: int) -> list[Any]:
        """Return the last arguments: the number of elements, or of steps, and the layout of a strided kernel."""
        found = self.tails.get(width)
        if found is None:
            layout = self.layout.of_width(width)
            steps = self.count // width if layout.ndim else self.count
            found = [ctypes.c_uint32(steps) if layout.bits == 32 else ctypes.c_uint64(steps)]
            found += [meta(layout, self.shape, self.strides)] if layout.ndim else []
            self.tails[width] = found
        return found

    def _blocks(self, width: int) -> int:
        return max(1, min(-(-self.count // (width * BLOCK)), self.limit))

    def _arguments(self, values: Sequence[Any], fault: int) -> tuple[int, tuple[Any, ...]]:
        """Elements per step and the parameters. TypeError for another number of values, OverflowError for wide ints."""
        if len(values) != len(self.kinds):
            raise TypeError(f"ptx: {self.kernel.title} expected {len(self.kinds)} values, got {len(values)}")
        addresses: Sequence[int] = values
        numbers: list[Any] = []
        if self.mixed:
            addresses = [value for kind, value in zip(self.kinds, values, strict=True) if kind == "m"]
            for kind, value in zip(self.kinds, values, strict=True):
                if kind != "m":
                    numbers += _NUMBERS[kind](value)
        width = fitting_width(self.layout, addresses, self.itemsizes) if self.layout.width > 1 else 1
        faults = (ctypes.c_uint64(fault),) if self.guarded else ()
        return width, (*map(ctypes.c_uint64, addresses), *numbers, *self._tail(width), *faults)


@functools.lru_cache(maxsize=4096)
def prepare(
    kernel: PointwiseKernel, shape: Ints, strides: tuple[Ints, ...], capability: Capability = DEFAULT_CAPABILITY,
    multiprocessors: int = 132,
) -> PreparedLaunch:  # fmt: skip
    """The launch of a kernel over an iteration space, without addresses; memoised.

    `shape` and `strides` (bytes) are the iteration plan's, coalesced, innermost first, outputs first. Raises ValueError
    for strides that do not fit the kernel, for too many dims, and for a compute capability below 7.0.
    """
    return PreparedLaunch(kernel, shape, strides, device_target(capability), multiprocessors)


def launch_plan(
    kernel: PointwiseKernel, shape: Ints, strides: Sequence[Ints], values: Sequence[Any], *,
    capability: Capability = DEFAULT_CAPABILITY, multiprocessors: int = 132, fault: int = 0,
) -> LaunchPlan:  # fmt: skip
    """Image, function, grid, block and arguments of one launch: prepare(...).plan(values, fault)."""
    return prepare(kernel, tuple(shape), tuple(strides), capability, multiprocessors).plan(values, fault)
