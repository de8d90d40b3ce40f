"""PTX images of grid kernels: IR compiled by LLVM for NVPTX, kept on disk by content as the CPU's objects are."""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple

from ...core.fork_safety import fork_safe
from ...kernels.body import Body, record
from ...kernels.code import NAME
from ...kernels.isa import llvm
from ...kernels.object_cache import ObjectCache, digest
from ...kernels.pointwise import PointwiseKernel
from .grid_kernel import TRIPLE, GridWriter, Parameter, Target, parameters
from .layout import Layout
from .routines import GridDeclarations


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
    declarations = GridDeclarations(target)
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
        self.cache = ObjectCache()
        self.salt = f"ptx {llvmlite.__version__} {self._llvm.llvm_version_info}"

    def assembly(self, text: str, target: Target) -> str:
        """PTX of a module given as IR text."""
        with self._lock:
            machine = self._machines.get(target)
            if machine is None:
                triple = self._llvm.Target.from_triple(TRIPLE)
                machine = triple.create_target_machine(cpu=target.name, features=f"+ptx{target.ptx}", opt=3)
                self._machines[target] = machine
            module = self._llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{text}')
            module.data_layout = str(machine.target_data)
            return str(machine.emit_assembly(module))


@functools.cache
def back_end() -> BackEnd:
    """The one of this process."""
    return BackEnd()


def assembly(text: str, name: str, target: Target) -> str:
    """PTX of a module whose kernel gets a name; compiled now."""
    return back_end().assembly(text.replace(NAME, name), target)


def compiled(written: GridText, target: Target) -> Image:
    """The image of a kernel for a device target, taken from the cache or compiled now."""
    found = back_end()
    key = digest(f"{found.salt} {target.name} {target.ptx}\n{written.text}".encode()).hex()
    name = f"gb_{key[:32]}"
    data = found.cache.read(key)
    if data is None:
        data = assembly(written.text, name, target).encode() + b"\0"
        found.cache.write(key, data)
    return Image(data, name)


@functools.lru_cache(maxsize=1024)
def image_of(kernel: PointwiseKernel, layout: Layout, target: Target) -> Image:
    """The image of a kernel in a layout; memoised."""
    return compiled(grid_text(kernel, layout, target), target)
