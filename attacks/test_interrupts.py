"""Ctrl-C at any moment: none is lost among small calls, and long calls end within a second.

`GAUGEBLOCK_ATTACKS` is a factor of the number of interrupts.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FACTOR = float(os.environ.get("GAUGEBLOCK_ATTACKS", "1"))
HEAD = """
import os, random, signal, sys, threading, time
import gaugeblock as gb

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it

def interrupted(call, after):
    '''Seconds from a SIGINT, sent `after` seconds from now, to the KeyboardInterrupt; None when it comes first.'''
    sent = []
    def send():
        time.sleep(after)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=send)
    try:
        sender.start()
        call()
        ended = time.monotonic()
        sender.join()
        time.sleep(0.2)
    except KeyboardInterrupt:
        now = time.monotonic()
        sender.join()
        return None if not sent else now - sent[0]
    raise SystemExit(f"the interrupt is lost: the call ended {ended - sent[0]:.2f} s after it")
"""
SMALL = (
    HEAD
    + """
chance = random.Random(int(sys.argv[2]))
x, m, w = gb.ones(16), gb.ones(8, 8), gb.ones(16, requires_grad=True)
LOOPS = [
    lambda: x + x, lambda: x * 2.0, lambda: x.add_(0), lambda: x.sum(), lambda: m @ m, lambda: m.t().contiguous(),
    lambda: x.clone(), lambda: x[3], lambda: gb.cat([x, x]), lambda: gb.softmax(m, 0), lambda: m.sort(),
    lambda: (w * 2).sum().backward(), lambda: gb.empty(3 << 20), lambda: x.tolist(), lambda: gb.linalg.det(m),
]
for call in LOOPS:
    call()

def loop(call):
    while time.monotonic() < end:
        call()

for _ in range(int(sys.argv[1])):
    call, end = chance.choice(LOOPS), time.monotonic() + 5
    late = interrupted(lambda: loop(call), chance.uniform(0.001, 0.03))
    assert late is not None and late < 1, late
    assert (x + 0).numel() == 16
print("none is lost")
"""
)
LONG = {
    "any": "gb.zeros(1, dtype=gb.bool).expand(2**36).any()",
    "sum": "gb.ones(1).expand(2**34).sum()",
    "mean": "gb.ones(1).expand(2**35).mean()",
    "lgamma": "[gb.lgamma(big) for _ in range(30)]",
    "sin": "[gb.sin(big) for _ in range(100)]",
    "add": "[big + 1 for _ in range(300)]",
    "svd": "gb.linalg.svd(gb.rand(1200, 1200, dtype=gb.float64))",
    "eigh": "gb.linalg.eigh(gb.eye(2000) + gb.rand(2000, 2000))",
    "matmul": "[gb.rand(4000, 4000) @ gb.rand(4000, 4000) for _ in range(30)]",
    "sort": "[gb.sort(gb.rand(10**7)) for _ in range(30)]",
    "rand": "[gb.rand(3 * 10**7) for _ in range(60)]",
    "cumsum": "gb.cumsum(gb.ones(1).expand(2**28), 0)",
    "add of huge ones": "gb.zeros(5 * 10**8) + 1",
    "full": "gb.full((5 * 10**8,), 2)",
    "clone": "[big.expand(10, -1).contiguous() for _ in range(30)]",
    "cast": "[big.expand(10, -1).to(gb.float64) for _ in range(30)]",
    "cat": "[gb.cat([big] * 20) for _ in range(30)]",
    "repeat": "[big.repeat(20) for _ in range(30)]",
    "repeat_interleave": "big.repeat_interleave(20)",
    "tolist": "[big.tolist() for _ in range(30)]",
    "tensor of a list": "gb.tensor([0.5] * 5 * 10**7)",
    "sum of rows": "gb.ones(1, 1).expand(2**24, 2**10).sum(0)",
    "softmax": "gb.softmax(gb.rand(3 * 10**8), 0)",
    "layer_norm": "[gb.nn.functional.layer_norm(gb.rand(3 * 10**8), (3 * 10**8,)) for _ in range(3)]",
    "unique": "[gb.unique(big.sin() + gb.rand(2 * 10**7)) for _ in range(9)]",
    "median": "[gb.median(gb.rand(10**8)) for _ in range(9)]",
    "topk": "[gb.topk(gb.rand(10**8), 10) for _ in range(9)]",
    "kthvalue": "[gb.kthvalue(gb.rand(10**8), 10) for _ in range(9)]",
    "mode": "gb.mode(gb.randint(0, 99, (5 * 10**7,)))",
    "fft": "[gb.fft.fft(big) for _ in range(30)]",
    "fft2": "[gb.fft.fft2(gb.rand(7000, 7000)) for _ in range(9)]",
    "histc": "[gb.histc(big, 100) for _ in range(99)]",
    "bincount": "[gb.bincount(places) for _ in range(99)]",
    "searchsorted": "[gb.searchsorted(gb.arange(10**7), places) for _ in range(30)]",
    "index": "[big[places] for _ in range(99)]",
    "gather": "[gb.gather(big, 0, places) for _ in range(99)]",
    "scatter_add": "[big.scatter_add(0, places, big) for _ in range(30)]",
    "index_put": "[big.index_put((places,), big, accumulate=True) for _ in range(30)]",
    "nonzero": "[gb.nonzero(places) for _ in range(99)]",
    "mask": "[big[big > 1] for _ in range(99)]",
    "cdist": "gb.cdist(gb.rand(8000, 30), gb.rand(8000, 30), 1.0)",
    "pdist": "gb.pdist(gb.rand(20000, 3), 3.0)",
    "kron": "[gb.kron(gb.rand(30000, 20), gb.rand(20, 20)) for _ in range(9)]",
    "conv2d": "[gb.conv2d(gb.rand(1, 64, 256, 256), gb.rand(256, 64, 7, 7)) for _ in range(9)]",
    "conv_transpose1d": "[gb.conv_transpose1d(gb.rand(8, 512, 512), gb.rand(512, 512, 9)) for _ in range(9)]",
    "matrix_exp": "gb.matrix_exp(gb.rand(4000, 4000))",
    "eig": "gb.linalg.eig(gb.rand(1500, 1500, dtype=gb.complex128))",
    "addmm": "[gb.addmm(gb.rand(5000), gb.rand(5000, 5000), gb.rand(5000, 5000)) for _ in range(9)]",
    "inner": "[gb.inner(gb.rand(5000, 5000), gb.rand(5000, 5000)) for _ in range(9)]",
    "bessel": "[gb.special.scaled_modified_bessel_k1(big) for _ in range(9)]",
    "zeta": "gb.special.zeta(big, big)",
    "randperm": "[gb.randperm(10**8) for _ in range(9)]",
    "backward": "[(many * 2).sin().sum().backward() for _ in range(300)]",
}
LONG_PROGRAM = (
    HEAD
    + """
big = gb.full((2 * 10**7,), 2.3)
places = gb.randint(0, 2 * 10**7, (2 * 10**7,))
many = gb.full((10**7,), 2.3, requires_grad=True)
late = interrupted(eval("lambda: " + sys.argv[1]), 0.5)
assert late is None or late < 1, f"answered after {late:.2f} s"
assert gb.ones(3).sum().item() == 3
print("answered")
"""
)


def run(program: str, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.mark.parametrize("seed", range(2))
def test_no_interrupt_of_small_calls_is_lost(seed: int) -> None:
    count = max(int(100 * FACTOR), 5)
    done = run(SMALL, str(count), str(seed), seconds=120 + 2 * count)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none is lost" in done.stdout
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_answers(name: str) -> None:
    done = run(LONG_PROGRAM, LONG[name], seconds=180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answered" in done.stdout
