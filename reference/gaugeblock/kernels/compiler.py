"""IR text to machine code: one LLVM engine, objects cached on disk, Python builtins made from entry points."""

from __future__ import annotations

import array
import ctypes
import hashlib
import threading
from collections.abc import Callable, Sequence

from . import common
from .object_cache import ObjectCache
from .parallel import attach
from .pool import pool_of
from .runtime import EXTENDED

METH_FASTCALL = 0x80
NAME = "GAUGEBLOCK_NAME"
Builtin = Callable[..., None]


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Compiler:
    """Owns the LLVM engine and every loaded object; thread-safe."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for name, address in _libm_symbols():
            llvm.add_symbol(name, address)
        self._llvm = llvm
        target = llvm.Target.from_default_triple()
        self._machine = target.create_target_machine(opt=2, jit=True)
        self._engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), target.create_target_machine(opt=2, jit=True)
        )
        self._salt = f"{llvmlite.__version__} {llvm.llvm_version_info} {self._machine.triple}"
        self._cache = ObjectCache()
        self._lock = threading.Lock()
        self._loaded: set[str] = set()
        self._common = False
        self._symbols: dict[str, int] = {}
        self._kept: list[object] = []
        self._new = ctypes.pythonapi.PyCFunction_NewEx
        self._new.restype = ctypes.py_object
        self._new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]

    def load(self, text: str) -> int:
        """Address of the function @NAME of a module given as IR text."""
        return self.load_all(text, ("",))[0]

    def load_all(self, text: str, suffixes: Sequence[str]) -> tuple[int, ...]:
        """Addresses of the functions NAME + suffix, compiled now or taken from the object cache."""
        if f"@{common.PREFIX}_" in text and not self._common:
            self._load_common()
        key = hashlib.sha256(f"{self._salt}\n{text}".encode()).hexdigest()
        name = f"gb_{key[:32]}"
        with self._lock:
            if name not in self._loaded:
                data = self._cache.read(key)
                if data is None:
                    data = self._machine.emit_object(self._llvm.parse_assembly(text.replace(NAME, name)))
                    self._cache.write(key, data)
                self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(data))
                self._engine.finalize_object()
                self._loaded.add(name)
            return tuple(self._engine.get_function_address(name + suffix) for suffix in suffixes)

    def _load_common(self) -> None:
        """Load what modules share, thread pool included, and make it known by name."""
        addresses = self.load_all(common.text(NAME), common.SUFFIXES)
        with self._lock:
            if self._common:
                return
            for suffix, address in zip(common.SUFFIXES[2:], addresses[2:], strict=True):
                self._symbols[common.PREFIX + suffix] = address
                self._llvm.add_symbol(common.PREFIX + suffix, address)
            attach(pool_of(*addresses[:2]))
            # The pool's threads run until the process ends, so their code must outlive the interpreter's objects.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._engine))
            self._common = True

    def common(self, symbol: str) -> int:
        """The address of a function that modules share."""
        if not self._common:
            self._load_common()
        return self._symbols[symbol]

    def builtin(self, name: str, address: int, descriptor: Sequence[int]) -> Builtin:
        """A Python builtin that runs the METH_FASTCALL function at `address`.

        Its self is a bytes object holding the descriptor's 64-bit ints.
        """
        method = _MethodDef(name.encode(), address, METH_FASTCALL, None)
        self._kept.append(method)
        data = array.array("q", descriptor).tobytes()
        builtin: Builtin = self._new(ctypes.addressof(method), data, None)
        return builtin


LIBM = (
    *"ceil ceilf cos floor floorf fma fmaf fmod fmodf ldexp lgamma nearbyint nearbyintf rint rintf round roundeven "
    "roundevenf sin sqrt sqrtf tan tgamma trunc truncf cexp clog csin ccos ctan casin cacos catan csinh ccosh ctanh "
    "casinh cacosh catanh csqrt cpow".split(),
    *(f"{name}l" for name in EXTENDED),
)


def _libm_symbols() -> list[tuple[str, int]]:
    import ctypes.util

    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = []
    for name in LIBM:
        function = getattr(library, name, None)
        if function is not None:
            found.append((name, ctypes.cast(function, ctypes.c_void_p).value or 0))
    return found


_FIRST = threading.Lock()
_COMPILERS: list[Compiler] = []


def compiler() -> Compiler:
    """The one compiler of this process: machine code lives as long as it does."""
    if not _COMPILERS:
        with _FIRST:
            if not _COMPILERS:
                _COMPILERS.append(Compiler())
    return _COMPILERS[0]
