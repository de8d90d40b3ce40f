"""What the machine is: processor, caches, cores, governor, memory, load, versions. What cannot be read is None."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

_CPU = Path("/sys/devices/system/cpu/cpu0")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
PACKAGES = ("gaugeblock", "numpy", "llvmlite", "ml_dtypes")


def describe() -> dict[str, Any]:
    """The machine as a row of a record; its load is that of now."""
    return {
        "cpu": processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "caches": caches(),
        "memory_bytes": memory("MemTotal"),
        "memory_available_bytes": memory("MemAvailable"),
        "governor": _read(_CPU / "cpufreq" / "scaling_governor"),
        "virtual": "hypervisor" in (_field("flags") or "").split(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "load_start": load(),
        "load_end": None,
    }


def processor() -> str:
    """The model's name as the system has it, else the architecture."""
    return _field("model name") or platform.processor() or platform.machine() or "unknown"


def load() -> list[float] | None:
    """Processes that ran or wanted to, on the average of the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None


def caches() -> list[dict[str, Any]]:
    """Caches of the first core, nearest first: level, kind, bytes, and how many cores share it."""
    found = []
    for index in sorted((_CPU / "cache").glob("index*")):
        level, kind, size = (_read(index / name) for name in ("level", "type", "size"))
        match = re.fullmatch(r"(\d+)([KMG])?", size or "")
        if level is None or kind is None or match is None:
            continue
        nbytes = int(match[1]) * _UNITS.get(match[2] or "", 1)
        shared = _cores(_read(index / "shared_cpu_list") or "0")
        found.append({"level": int(level), "kind": kind.lower(), "bytes": nbytes, "shared_by": shared})
    return found


def memory(field: str) -> int | None:
    """Bytes of a line of /proc/meminfo."""
    match = re.search(rf"^{field}:\s+(\d+) kB", _read(Path("/proc/meminfo")) or "", re.MULTILINE)
    return int(match[1]) << 10 if match else None


def _field(name: str) -> str | None:
    match = re.search(rf"^{name}\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return match[1].strip() if match else None


def _cores(text: str) -> int:
    """How many numbers a list such as ``0-3,8`` has."""
    ends = [part.split("-") for part in text.split(",")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ends)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
