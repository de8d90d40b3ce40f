"""Malformed DLPack capsules, made at random in processes of their own: each is taken or refused with an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROUNDS = 4000
PROGRAM = '''
import ctypes, gc, random, sys, warnings
import gaugeblock as gb
from gaugeblock.interop import managed_tensor
from gaugeblock.interop.managed_tensor import PLAIN, VERSIONED, Managed, ManagedVersioned, capsule_of, keep

warnings.simplefilter("ignore")
seed, rounds = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)
memory = (ctypes.c_char * 4096)()
start = (ctypes.addressof(memory) + 63) // 64 * 64
NUMBERS = (0, 1, 2, 3, 5, -1, -2, 2**31 - 1, -2**31, 2**32, 2**62, 2**63 - 1, -2**63)
DTYPES = list(managed_tensor.CODES.values())
before = len(managed_tensor._KEPT)
taken = 0


def a_number():
    return draw.choice(NUMBERS) if draw.random() < 0.3 else draw.randrange(0, 4)


def a_capsule():
    versioned = draw.random() < 0.7
    managed = ManagedVersioned() if versioned else Managed()
    if versioned:
        managed.major = draw.choice((1, 1, 1, 0, 2, 2**31))
        managed.minor = draw.choice((0, 3, 99))
        managed.flags = draw.choice((0, 0, 1, 2, 8, 2**64 - 1))
    view = managed.view
    view.ndim = draw.choice((0, 1, 2, 3, 3)) if draw.random() < 0.9 else draw.choice((-1, 65, 2**31 - 1, -2**31))
    held = [(ctypes.c_int64 * 4)(*[a_number() for _ in range(4)]) for _ in range(2)]
    pointer = ctypes.POINTER(ctypes.c_int64)
    if draw.random() < 0.95:
        view.shape = ctypes.cast(held[0], pointer)
    if draw.random() < 0.8:
        view.strides = ctypes.cast(held[1], pointer)
    view.data = draw.choice((start, start, start, start + 1, start + 8, None, 2**64 - 8))
    view.byte_offset = draw.choice((0, 0, 0, 4, 1, 64, 2**63, 2**64 - 1))
    code, bits = draw.choice(DTYPES) if draw.random() < 0.8 else (draw.randrange(256), draw.randrange(256))
    view.code, view.bits = code, bits
    view.lanes = draw.choice((1, 1, 1, 1, 0, 4, 65535))
    view.device_type = draw.choice((1, 1, 1, 1, 2, 3, 0, -1, 99))
    view.device_id = draw.choice((0, 0, 0, 7, -1))
    return capsule_of(keep(managed, held), VERSIONED if versioned else PLAIN)


for turn in range(rounds):
    capsule = a_capsule()
    print(turn, end=" ", file=sys.stderr)
    try:
        x = gb.from_dlpack(capsule)
    except (BufferError, RuntimeError) as error:
        assert str(error), error
        assert "used" not in repr(capsule)
        continue
    finally:
        del capsule
    taken += 1
    sizes, strides = x.size(), x.stride()
    reached = 1 + sum((n - 1) * k for n, k in zip(sizes, strides))
    end = x.data_ptr() + reached * x.element_size()
    if x.numel() == 0:
        assert x.clone().shape == x.shape
    elif x.numel() < 1000 and start <= x.data_ptr() and end <= start + 4000 and x.dtype.is_floating_point:
        assert (x.clone() == x).all().item() in (True, False)
    del x
gc.collect()
assert len(managed_tensor._KEPT) == before, len(managed_tensor._KEPT) - before
print(taken)
'''


@pytest.mark.parametrize("seed", range(3))
def test_no_capsule_ends_the_process(seed: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), str(ROUNDS)], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert int(ran.stdout) > ROUNDS // 50


LOOP = '''
import gc, os, sys
import numpy as np
import gaugeblock as gb
from gaugeblock.interop import managed_tensor

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

def descriptors():
    return len(os.listdir("/proc/self/fd"))

def rounds(count):
    for k in range(count):
        x = gb.full((1 << 13,), float(k))
        array = np.from_dlpack(x)
        y = gb.from_dlpack(array)
        capsule = y.__dlpack__(max_version=(1, 0)) if k % 2 else y.__dlpack__()
        if k % 3:
            assert gb.from_dlpack(capsule)[5].item() == k
        del capsule

rounds(200)
gc.collect()
before = resident(), descriptors(), len(managed_tensor._KEPT)
rounds(10_000)
gc.collect()
after = resident(), descriptors(), len(managed_tensor._KEPT)
assert after[1:] == before[1:], (before, after)
assert after[0] - before[0] < 16 << 20, (before, after)
'''


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has in use is read from /proc")
def test_ten_thousand_exchanges_leave_nothing_behind() -> None:
    ran = subprocess.run([sys.executable, "-c", LOOP], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
