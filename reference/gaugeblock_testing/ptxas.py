"""The assembler of NVIDIA's toolkit, which tells whether PTX is well formed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

_PLACES = ("nvidia/cuda_nvcc/bin", "nvidia/cu13/bin")


def find_ptxas() -> str | None:
    """The path of ptxas, or None."""
    packaged = [os.path.join(folder, place) for folder in sys.path for place in _PLACES]
    return shutil.which("ptxas") or shutil.which("ptxas", path=os.pathsep.join(packaged))


def assemble(image: bytes, architecture: str = "sm_80") -> bytes:
    """The cubin of a PTX image for an architecture such as "sm_90".

    Raises RuntimeError without ptxas, and with what ptxas says when it refuses the image.
    """
    program = find_ptxas()
    if program is None:
        raise RuntimeError("ptxas: ptxas was not found: install nvidia-cuda-nvcc-cu12, or put ptxas on PATH")
    with tempfile.TemporaryDirectory() as folder:
        source, result = (os.path.join(folder, name) for name in ("kernel.ptx", "kernel.cubin"))
        with open(source, "wb") as file:
            file.write(image.rstrip(b"\0"))
        command = [program, f"-arch={architecture}", source, "-o", result]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ptxas: ptxas refused the image: {done.stderr.strip()}")
        with open(result, "rb") as file:
            return file.read()
