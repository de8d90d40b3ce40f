"""LLVM, instruction-set levels, and the choice among them at run time (GAUGEBLOCK_CPU_CAPABILITY)."""

from __future__ import annotations

import functools
import os
from importlib import import_module
from typing import Any, NamedTuple

from ..core.warn import warn


@functools.cache
def llvm() -> Any:
    """Return `llvmlite.binding`."""
    return import_module("llvmlite.binding")  # the package lacks the name after an import that Ctrl-C has ended


VARIABLE = "GAUGEBLOCK_CPU_CAPABILITY"


class Level(NamedTuple):
    """One instruction-set level: vector width in bytes and the attributes of functions compiled for it. `half_hardware`
    says whether float16 conversions are single instructions there."""

    name: str
    vector_bytes: int
    attributes: str
    required: frozenset[str]
    half_hardware: bool


def _level(name: str, vector_bytes: int, cpu: str, required: str, half: bool, extra: str = "") -> Level:
    target = f'"target-cpu"="{cpu}"{extra}' if cpu else extra
    return Level(name, vector_bytes, target, frozenset(required.split()), half)


_AVX2 = "avx2 fma f16c bmi bmi2 lzcnt"
X86_LEVELS = (
    _level("default", 16, "x86-64", "", False),
    _level("avx2", 32, "x86-64-v3", _AVX2, True),
    _level(
        "avx512", 64, "x86-64-v4", f"{_AVX2} avx512f avx512bw avx512cd avx512dq avx512vl", True,
        ' "prefer-vector-width"="512" "min-legal-vector-width"="512"',
    ),
)  # fmt: skip
ARM_LEVELS = (_level("default", 16, "", "", False), _level("neon", 16, "", "neon", True, '"target-features"="+neon"'))
OTHER_LEVELS = (_level("default", 16, "", "", False),)


def machine() -> str:
    """Return the name of the processor's family; where the system tells it, nothing is imported for it."""
    if hasattr(os, "uname"):
        return os.uname().machine.lower()
    import platform

    return platform.machine().lower()


def known_levels() -> tuple[Level, ...]:
    """All levels of this processor family, lowest first."""
    families = {"x86_64": X86_LEVELS, "amd64": X86_LEVELS, "aarch64": ARM_LEVELS, "arm64": ARM_LEVELS}
    return families.get(machine(), OTHER_LEVELS)


@functools.cache
def supported_levels() -> tuple[Level, ...]:
    """The levels this processor can run, lowest first."""
    features = llvm().get_host_cpu_features()
    present = {name for name, on in features.items() if on}
    return tuple(level for level in known_levels() if level.required <= present)


@functools.cache
def current_level() -> Level:
    """The best supported level, or the one GAUGEBLOCK_CPU_CAPABILITY names; other values warn and are ignored."""
    levels = supported_levels()
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if not wanted:
        return levels[-1]
    for level in levels:
        if level.name == wanted:
            return level
    known = ", ".join(level.name for level in known_levels())
    reason = "this processor lacks it" if wanted in known.split(", ") else f"expected one of {known}"
    warn(f"{VARIABLE}={wanted!r} is ignored: {reason}")
    return levels[-1]


def capability() -> str:
    """Name of the level in use."""
    return current_level().name
