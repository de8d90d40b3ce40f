"""Forks while other threads run the engine: children can use it at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import gaugeblock as gb
import gaugeblock_testing
import gaugeblock_tools
import pytest
from gaugeblock.core import fork_safety
from gaugeblock.core.fork_safety import fork_safe

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

FORKS = """
import faulthandler, itertools, os, random, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
sys.setswitchinterval(1e-5)
import gaugeblock as gb
gb.set_num_threads(4)
forks, done = int(sys.argv[1]), threading.Event()
operators = "add sub mul div maximum minimum atan2 hypot fmod remainder floor_divide copysign".split()
dtypes = [gb.float32, gb.float64, gb.int16, gb.int32, gb.float16, gb.bfloat16]

def compiling(seed):
    jobs = list(itertools.product(operators, dtypes, dtypes))
    random.Random(seed).shuffle(jobs)
    for name, left, right in itertools.cycle(jobs):
        if done.is_set():
            return
        try:
            getattr(gb, name)(gb.ones(7, dtype=left), gb.ones(7, dtype=right))
        except NotImplementedError:  # hypot of integers
            pass

def drawing(seed):
    while not done.is_set():
        gb.randn(100_000)

def sharing(seed):
    large = gb.ones(500_000)
    while not done.is_set():
        (large + large).sum()
        gb.kernel_tools.parallel_for(8, 1, lambda begin, end: None)

def recording(seed):
    while not done.is_set():
        leaf = gb.ones(3, requires_grad=True)
        with gb.no_grad():
            leaf * 2
        (leaf.exp() * leaf).sum().backward()

def simulated(seed):
    while not done.is_set():
        held = gb.ones(1000, device="cuda")
        (held + held).cpu()

def child(number):
    faulthandler.dump_traceback_later(40, exit=True)
    x = gb.full((70_000,), 2.0)
    assert (x + x).sum().item() == 280_000.0
    for dtype in random.Random(number).sample(dtypes, 3):
        assert gb.hypot(gb.full((2,), 3, dtype=gb.float32), gb.full((2,), 4, dtype=dtype)).tolist() == [5.0, 5.0]
    assert gb.fmod(gb.arange(5, dtype=gb.int64), number % 7 + 2).tolist() == [k % (number % 7 + 2) for k in range(5)]
    assert gb.rand(3).shape == (3,)
    leaf = gb.ones(3, requires_grad=True)
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]
    if "simulated" in sys.argv:
        assert (gb.ones(3, device="cuda") + 1).cpu().tolist() == [2.0, 2.0, 2.0]
    with gb.inference_mode():
        gb.library.Library(f"forked{number}", "DEF").define("f() -> ()")

threads = [threading.Thread(target=globals()[work], args=(k,)) for k, work in enumerate(sys.argv[2:])]
for thread in threads:
    thread.start()
status = []
for number in range(forks):
    time.sleep(random.Random(number).random() * 0.03)
    process = os.fork()
    if not process:
        end = 1
        try:
            child(number)
            end = 0
        finally:
            if end:
                import traceback
                traceback.print_exc()
            os._exit(end)
    status.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
done.set()
for thread in threads:
    thread.join()
print(set(status))
"""


@pytest.mark.parametrize(
    "works",
    [
        ("compiling", "compiling", "compiling"),
        ("drawing", "sharing", "recording"),
        ("sharing", "sharing", "compiling"),
        ("simulated", "compiling", "recording"),
    ],
    ids=" ".join,
)
def test_children_use_the_engine(works: tuple[str, ...], tmp_path: Path) -> None:
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(tmp_path), "GAUGEBLOCK_CUDA_DRIVER": "simulated"}
    command = [sys.executable, "-c", FORKS, os.environ.get("GAUGEBLOCK_FORKS", "12"), *works]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.returncode) == ("{0}\n", 0), done.stderr[-4000:]


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_forked_inside_a_parallel_region_uses_the_engine() -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
import gaugeblock as gb
gb.set_num_threads(4)
large = gb.ones(500_000)
ends = []
def body(begin, end):
    for number in range(begin, end):
        child = os.fork()
        if not child:
            fine = (large + large).sum().item() == 1e6 and gb.hypot(large[:3] * 3, large[:3] * 4).tolist() == [5.0] * 3
            gb.kernel_tools.parallel_for(8, 1, lambda begin, end: None)
            os._exit(0 if fine else 1)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
gb.kernel_tools.parallel_for(12, 1, body)
print(ends)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == f"{[0] * 12}\n"


def test_data_under_a_lock_is_consistent_in_a_child() -> None:
    lock, pair, done = fork_safe(threading.RLock()), [0, 0], threading.Event()

    def change() -> None:
        while not done.is_set():
            with lock:
                pair[0] += 1
                time.sleep(1e-4)
                pair[1] += 1

    thread = threading.Thread(target=change)
    thread.start()
    ends = []
    for _ in range(30):
        child = os.fork()
        if not child:
            os._exit(0 if pair[0] == pair[1] and lock.acquire(timeout=1) else 1)
        ends.append(ended(child))
    done.set()
    thread.join()
    assert set(ends) == {0}
    assert lock.acquire(blocking=False)


def test_a_lock_held_too_long_is_replaced_in_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_safety, "PATIENCE", 0.05)
    lock, other = fork_safe(threading.RLock()), fork_safe(threading.RLock())
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    child = os.fork()
    if not child:
        os._exit(0 if lock.acquire(timeout=1) and other.acquire(timeout=1) else 1)
    assert ended(child) == 0
    assert not lock.acquire(blocking=False) and other.acquire(blocking=False)
    done.set()
    thread.join()


def test_a_thread_forks_while_it_holds_locks() -> None:
    lock = fork_safe(threading.RLock())
    begin = time.monotonic()
    with lock:
        child = os.fork()
        if not child:
            lock.release()
            os._exit(0)
        assert ended(child) == 0
    assert time.monotonic() - begin < fork_safety.PATIENCE


@pytest.mark.parametrize("name", ["llvmlite", "gaugeblock_testing"])
def test_fork_waits_for_imports_in_other_threads(name: str, tmp_path: Path) -> None:
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(0.5)\nvalue = 5\n")
    code = (
        f"import os, sys, threading, time; sys.path.insert(0, {str(tmp_path)!r}); import gaugeblock.core.fork_safety\n"
        f"thread = threading.Thread(target=__import__, args=({name!r},)); thread.start(); time.sleep(0.1)\n"
        "child = os.fork()\n"
        "if not child:\n"
        f"    import {name}\n"
        f"    os._exit({name}.value)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "5\n"


OWN_HANDLERS = Path(gb.__file__ or "").parent / "multiprocessing" / "client.py"
"""Holds its locks around forks itself, since what they protect is copied to the child meanwhile."""


def test_every_lock_of_the_engine_is_free_in_a_child() -> None:
    folders = [Path(module.__file__ or "").parent for module in (gb, gaugeblock_testing, gaugeblock_tools)]
    lines = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for folder in folders
        for path in folder.rglob("*.py")
        if path != OWN_HANDLERS
        for line in path.read_text().splitlines()
    ]
    makers = re.compile(r"\b(R?Lock|Semaphore|Barrier)\(|import cached_property|functools\.cached_property")
    unsafe = [line for line in lines if makers.search(line) and "fork_safe(" not in line]
    assert unsafe == []
