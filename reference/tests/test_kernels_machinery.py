"""Levels, object cache, threads: what stands around the compiled loops."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gaugeblock.kernels import parallel
from gaugeblock.kernels.code import NAME, PLAIN
from gaugeblock.kernels.compiler import compiler
from gaugeblock.kernels.isa import known_levels, supported_levels
from gaugeblock.kernels.object_cache import CacheFolder

DIGEST = """
import hashlib, numpy as np
from gaugeblock.core.dtype import *
from gaugeblock.kernels.isa import capability
from gaugeblock.kernels.pointwise import pointwise_kernel
from gaugeblock.operators.formulas import FORMULAS
total = hashlib.sha256()
rng = np.random.default_rng(0)
for dtype in (int8, int64, float16, bfloat16, float32, float64):
    a, b = ((rng.standard_normal(517) * 50).astype(dtype.numpy) for _ in range(2))
    b[b == 0] = 1
    for name in ("add", "mul", "floor_divide", "remainder", "maximum", "lt", "abs", "sign", "identity", "round"):
        count = 1 if name in ("abs", "sign", "identity", "round") else 2
        result = bool_ if name == "lt" else dtype
        out = np.empty(517, result.numpy)
        kernel = pointwise_kernel(name, FORMULAS[name], (dtype,) * count, dtype, (result,))
        kernel.contiguous(out.ctypes.data, *[x.ctypes.data for x in (a, b)[:count]], 517)
        total.update(out.tobytes())
print(capability(), total.hexdigest())
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def test_exact_operators_agree_bitwise_at_every_level() -> None:
    digests = {}
    for level in supported_levels():
        name, digest = run(DIGEST, GAUGEBLOCK_CPU_CAPABILITY=level.name).stdout.split()
        assert name == level.name
        digests[name] = digest
    assert len(set(digests.values())) == 1, digests


def test_an_unknown_level_warns_and_is_ignored() -> None:
    done = run("from gaugeblock.kernels.isa import capability; print(capability())", GAUGEBLOCK_CPU_CAPABILITY="avx9")
    assert done.stdout.strip() == supported_levels()[-1].name
    assert "GAUGEBLOCK_CPU_CAPABILITY='avx9' is ignored" in done.stderr
    assert known_levels()[0].name in done.stderr


def test_cached_objects_are_reused_and_corrupt_ones_replaced(tmp_path: Path) -> None:
    first = run(DIGEST, GAUGEBLOCK_CACHE_DIR=str(tmp_path)).stdout
    stored = sorted(tmp_path.glob("*.o"))
    assert stored
    stored[0].write_bytes(b"")
    stored[1].write_bytes(stored[1].read_bytes()[:-7])
    stored[2].write_bytes(b"\0" * stored[2].stat().st_size)
    assert run(DIGEST, GAUGEBLOCK_CACHE_DIR=str(tmp_path)).stdout == first
    assert sorted(tmp_path.glob("*.o")) == stored
    assert all(place.stat().st_size > 100 for place in stored)
    assert not list(tmp_path.glob("*.part"))


def test_without_a_usable_folder_everything_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run(DIGEST, GAUGEBLOCK_CACHE_DIR=str(blocked / "sub")).stdout


def test_processes_share_a_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", DIGEST]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1 and all(process.returncode == 0 for process in running)


def test_cache_size_is_bounded(tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    for k in range(30):
        cache.write(f"key{k}.o", bytes(1000))
        os.utime(tmp_path / f"key{k}.o", (k, k))
    cache.shrink(10_000)
    assert sum(place.stat().st_size for place in tmp_path.iterdir()) <= 7500
    assert cache.read("key0.o") is None
    assert cache.read("key29.o") == bytes(1000)


def test_chunks_are_disjoint_and_cover_the_range() -> None:
    before = parallel.get_num_threads()
    try:
        for threads in (1, 2, 3, 4):
            parallel.set_num_threads(threads)
            for n in (0, 1, 32768, 32769, 100_001):
                seen = [0] * n
                lock = threading.Lock()

                def visit(begin: int, end: int, seen: list[int] = seen, lock: threading.Lock = lock) -> None:
                    with lock:
                        for index in range(begin, end):
                            seen[index] += 1

                parallel.parallel_for(n, parallel.GRAIN, visit)
                assert all(count == 1 for count in seen)
    finally:
        parallel.set_num_threads(before)


def test_an_error_in_a_chunk_reaches_the_caller() -> None:
    before = parallel.get_num_threads()
    parallel.set_num_threads(2)

    def fail(begin: int, end: int) -> None:
        if begin:
            raise ValueError("from a worker")

    try:
        with pytest.raises(ValueError, match="from a worker"):
            parallel.parallel_for(1000, 10, fail)
    finally:
        parallel.set_num_threads(before)


@pytest.mark.parametrize(("number", "error"), [(0, RuntimeError), (-1, RuntimeError), (1.5, TypeError)])
def test_set_num_threads_rejects(number: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        parallel.set_num_threads(number)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_pool_survives_a_fork() -> None:
    code = """
import ctypes
import os
from gaugeblock.kernels import parallel
from gaugeblock.kernels.code import NAME, PLAIN
from gaugeblock.kernels.compiler import compiler
parallel.set_num_threads(2)
parallel.parallel_for(100, 10, lambda a, b: None)
child = os.fork()
if child == 0:
    parallel.parallel_for(100, 10, lambda a, b: None)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    run(code)


def test_the_parts_of_a_module_call_each_other() -> None:
    text = f"""declare i64 @{NAME}_second(i64)
define i64 @{NAME}(i64 %x) {{
  %y = call i64 @{NAME}_second(i64 %x)
  ret i64 %y
}}
define i64 @{NAME}_third(i64 %x) {{
  %y = mul i64 %x, 3
  ret i64 %y
}}
{PLAIN}
declare i64 @{NAME}_third(i64)
define i64 @{NAME}_second(i64 %x) {{
  %y = add i64 %x, 1
  %z = call i64 @{NAME}_third(i64 %y)
  ret i64 %z
}}
"""
    first, third = compiler().load_all(text, ("", "_third"))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    assert (call(first)(4), call(third)(4)) == (15, 12)


OUTLIVING = '''
import gc
import gaugeblock as gb
from gaugeblock.kernels.code import NAME
from gaugeblock.kernels.compiler import Compiler

TEXT = f"""@_Py_NoneStruct = external global i8
declare void @Py_IncRef(ptr)
define ptr @{NAME}(ptr %self, ptr %args, i64 %count) {{
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}}
"""
compiler = Compiler()
kernel = compiler.builtin("kernel", compiler.load_text(TEXT), (1, 2))
del compiler
gc.collect()
print(kernel(), kernel.__name__)
'''


def test_a_kernel_outlives_its_compiler() -> None:
    assert run(OUTLIVING, PYTHONMALLOC="debug").stdout == "None kernel\n"
