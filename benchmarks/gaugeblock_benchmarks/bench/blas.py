"""How many threads NumPy's BLAS may use, where it is an OpenBLAS in this process."""

from __future__ import annotations

import ctypes
from pathlib import Path

_NAMES = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads64_",
          "openblas_set_num_threads")  # fmt: skip


def set_blas_threads(threads: int) -> bool:
    """Set them; whether there was a library that could be told."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    paths = {line.split(maxsplit=5)[5] for line in lines if "openblas" in line and len(line.split(maxsplit=5)) == 6}
    told = False
    for path in sorted(paths):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in _NAMES:
            function = getattr(library, name, None)
            if function is not None:
                function(ctypes.c_int(threads))
                told = True
                break
    return told
