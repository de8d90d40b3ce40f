"""IR text to machine code: one LLVM engine, objects cached on disk, Python builtins made from entry points.

A module whose text follows from the sources of this package and a few words is loaded by these words: `described`. Its
text is then written only where the cache does not know which object they stand for.

A module's text may have a second part, after the line PLAIN. What stands there runs once per call or less (arguments
read, work shared out) and is compiled without optimisation, in a fourth of the time. The parts are modules of their
own, which know each other's functions by names that begin with NAME.
"""

from __future__ import annotations

import array
import ctypes
import functools
import marshal
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..core.fork_safety import fork_safe
from . import common
from .code import NAME, PLAIN, Module
from .entry import METH_FASTCALL, MethodDef
from .isa import llvm
from .object_cache import Described, Descriptions, cache_folder, digest
from .parallel import THREADS, NativePool, look

Builtin = Callable[..., None]
_LOCK = fork_safe(threading.RLock())
"""Held while the compiler is made, and while it loads objects."""


Made = TypeVar("Made")


def keep_forever(one: Made) -> Made:
    """Return an object, which lives on when the interpreter clears its modules: code or structs of C refer to it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
    return one


class Compiler:
    """Owns the LLVM engine and every loaded object; thread-safe."""

    keep_forever = staticmethod(keep_forever)

    def __init__(self) -> None:
        import llvmlite

        binding = self._llvm = llvm()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        for name, address in _libm_symbols():
            binding.add_symbol(name, address)
        target = binding.Target.from_default_triple()
        self._machines = [target.create_target_machine(opt=level, jit=True) for level in (2, 0)]
        # Threads of the pool and finalisers of storages run its code until the process ends.
        self._engine = keep_forever(
            binding.create_mcjit_compiler(binding.parse_assembly(""), target.create_target_machine(opt=2, jit=True))
        )
        self._salt = f"lists {llvmlite.__version__} {binding.llvm_version_info} {self._machines[0].triple}"
        self._cache = cache_folder()
        self._descriptions = Descriptions(self._salt)
        self._loaded: set[str] = set()
        self._common = False
        self._symbols: dict[str, int] = {}
        self._new = ctypes.pythonapi.PyCFunction_NewEx
        self._new.restype = ctypes.py_object
        self._new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]

    def described(
        self, description: str, write: Callable[[], Module], suffixes: Sequence[str] = ("",)
    ) -> tuple[tuple[int, ...], str]:
        """Return the addresses of the functions NAME + suffix of a described module, and its facts. `write` gives the
        module. The description must say all that its text depends on beside the package's sources."""
        known = self._descriptions.read(description)
        if known is not None:
            if known.uses_common:
                self._load_common()
            found = self._addresses(known.key, suffixes, None)
            if found is not None:
                return found, known.facts
        module = write()
        found = self.load_all(module.text, suffixes)
        key = self._key(module.text)
        if self._cache.holds(f"{key}.o"):
            self._descriptions.write(description, Described(key, _uses_common(module.text), module.facts))
        return found, module.facts

    def load(self, description: str, write: Callable[[], str]) -> int:
        """Return the address of the function @NAME of the module that a description stands for."""
        return self.described(description, lambda: Module(write()))[0][0]

    def load_text(self, text: str) -> int:
        """Return the address of the function @NAME of a module given as IR text."""
        return self.load_all(text, ("",))[0]

    def load_all(self, text: str, suffixes: Sequence[str]) -> tuple[int, ...]:
        """Return the addresses of the functions NAME + suffix, compiled now or taken from the object cache."""
        if _uses_common(text):
            self._load_common()
        found = self._addresses(self._key(text), suffixes, text)
        assert found is not None
        return found

    def _addresses(self, key: str, suffixes: Sequence[str], text: str | None) -> tuple[int, ...] | None:
        """Return the addresses in an object; None if the cache has lost it and its text is not given."""
        name = _name(key)
        with _LOCK:
            if name not in self._loaded:
                data = self._cache.read(f"{key}.o")
                if data is None:
                    if text is None:
                        return None
                    parts = zip(self._machines, text.replace(NAME, name).split(PLAIN), strict=False)
                    filled = [(machine, part) for machine, part in parts if part.strip()]
                    data = marshal.dumps(
                        [machine.emit_object(self._llvm.parse_assembly(part)) for machine, part in filled]
                    )
                    self._cache.write(f"{key}.o", data)
                for part in marshal.loads(data):
                    self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(part))
                self._engine.finalize_object()
                self._loaded.add(name)
            return tuple(self._engine.get_function_address(name + suffix) for suffix in suffixes)

    def symbol(self, text: str) -> str:
        """Return what stands for NAME in a module once it is loaded."""
        return _name(self._key(text))

    def _key(self, text: str) -> str:
        return digest(f"{self._salt}\n{text}".encode()).hex()

    def _load_common(self) -> None:
        """Load what modules share, thread pool included, and make it known by name."""
        if self._common:
            return
        suffixes = (*common.OWN, *common.SUFFIXES)
        addresses, _ = self.described("common", lambda: Module(common.text(NAME)), suffixes)
        with _LOCK:
            if self._common:
                return
            for suffix, address in zip(common.SUFFIXES, addresses[len(common.OWN) :], strict=True):
                self._symbols[common.PREFIX + suffix] = address
                self._llvm.add_symbol(common.PREFIX + suffix, address)
            # Let the pool of native threads follow set_num_threads and forks.
            set_threads, forget, let_look = addresses[: len(common.OWN)]
            counts = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
            native = NativePool(counts(set_threads), ctypes.CFUNCTYPE(None)(forget))
            native.forget()
            ctypes.PYFUNCTYPE(None, ctypes.py_object)(let_look)(keep_forever(look))
            THREADS.native = native
            native.set_threads(THREADS.number, THREADS.spins)
            self._common = True

    def common(self, symbol: str) -> int:
        """The address of a function that modules share."""
        self._load_common()
        return self._symbols[symbol]

    def builtin(self, name: str, address: int, descriptor: Sequence[int]) -> Builtin:
        """A Python builtin that runs the METH_FASTCALL function at `address`. Its self is a bytes object holding the
        descriptor's 64-bit ints."""
        method = keep_forever(MethodDef(name.encode(), address, METH_FASTCALL, None))
        data = array.array("q", descriptor).tobytes()
        builtin: Builtin = self._new(ctypes.addressof(method), data, None)
        return builtin


def _name(key: str) -> str:
    return f"gb_{key[:32]}"


def _uses_common(text: str) -> bool:
    return f"@{common.PREFIX}_" in text


class made_once(Generic[Made]):
    """A property whose value is made when it is first asked for, and kept in the object. That of functools holds a
    lock, which a fork may leave locked; two threads may make the value twice here."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __get__(self, instance: Any, owner: type) -> Made:
        made = self.make(instance)
        instance.__dict__[self.make.__name__] = made
        return made


Builder = TypeVar("Builder", bound=Callable[..., Any])


def named(build: Builder) -> Builder:
    """Memoise a builder of reductions, phases or row programs, and name what it builds after its call. The name stands
    for the same expressions in every process."""

    @functools.cache
    def memoised(*args: Any, **kwargs: Any) -> Any:
        words = [f"{getattr(one, 'name', one)}" for one in (*args, *kwargs.items())]
        return build(*args, **kwargs)._replace(name=" ".join([build.__name__, *words]))

    return functools.wraps(build)(memoised)  # type: ignore[return-value]


LIBM = "ceil ceilf floor floorf fma fmaf nearbyint nearbyintf rint rintf roundeven roundevenf trunc truncf".split()


def _libm_symbols() -> list[tuple[str, int]]:
    import ctypes.util

    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = []
    for name in LIBM:
        function = getattr(library, name, None)
        if function is not None:
            found.append((name, ctypes.cast(function, ctypes.c_void_p).value or 0))
    return found


_COMPILERS: list[Compiler] = []


def compiler() -> Compiler:
    """The one compiler of this process: machine code lives as long as it does."""
    if not _COMPILERS:
        with _LOCK:
            if not _COMPILERS:
                from .bound_call import install

                made = Compiler()
                install(made)
                _COMPILERS.append(made)
    return _COMPILERS[0]
