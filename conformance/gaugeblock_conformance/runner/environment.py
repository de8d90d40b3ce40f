"""Facts of the machine and the packages that a run record states."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from gaugeblock_spec.requirements import Requirement


def loaded_packages() -> dict[str, str]:
    """Name -> version of every imported third-party package that states one."""
    packages: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        if "." in name or name.startswith("_") or name in sys.stdlib_module_names:
            continue
        stated = getattr(module, "__version__", None)
        if isinstance(stated, str):
            packages[name] = str(stated)
    return packages


def cores() -> int:
    """Number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_model() -> str:
    """The CPU's name as the system states it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def total_memory() -> int | None:
    """Bytes of physical memory, or None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def resident_memory(pid: int) -> int:
    """Bytes of physical memory that a process holds; 0 where /proc does not say."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def suite_version() -> str:
    """Version of the installed suite."""
    return version("gaugeblock")


def spec_version(requirements: Iterable[Requirement]) -> str:
    """Version of the spec with a digest of its sentences, so that a resumed run cannot mix two specs."""
    digest = hashlib.sha256()
    for requirement in requirements:
        facts = (requirement.id, requirement.level, *requirement.capabilities, requirement.sentence)
        digest.update("\0".join(facts).encode())
    return f"{suite_version()}+{digest.hexdigest()[:8]}"


def machine() -> dict[str, str | int]:
    """Platform, Python, CPU model and number of usable cores."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpu": cpu_model(),
        "cores": cores(),
    }
