"""Threads that read tensors while others change them: the process survives and every thread ends.

`GAUGEBLOCK_ATTACKS` scales the time that these programs run, a minute at 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

SECONDS = 60 * float(os.environ.get("GAUGEBLOCK_ATTACKS", "1"))
KINDS = ("data", "set_", "metadata", "resize_", "storage", "out", "all")
PROGRAM = """
import faulthandler, random, sys, threading, time
faulthandler.enable()
sys.setswitchinterval(1e-5)
import gaugeblock as gb

kind, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
SIZES = [(2, 2), (64, 32), (300, 300), (1,), (0,), (7, 5, 3)]

class Named:
    name = "named"

class Subclass(gb.Tensor):
    pass

class Mixed(Named, Subclass):
    pass

class Opaque(gb.Tensor):
    __torch_function__ = classmethod(gb.overrides._disabled_torch_function_impl)

tensors = [gb.ones(*chance.choice(SIZES)) for _ in range(4)]
tensors.append(tensors[0].view(-1))
tensors += [gb.ones(*chance.choice(SIZES)).as_subclass(kind) for kind in (Subclass, Mixed, Opaque)]
tensors.append(tensors[0].as_subclass(Subclass))
tensors += [gb.ones(*chance.choice(SIZES), requires_grad=True) for _ in range(2)]
tensors.append(gb.ones(*chance.choice(SIZES)).as_subclass(Mixed).requires_grad_())
kinds = [type(x) for x in tensors]
weight = gb.ones(64, 32, requires_grad=True)
ended = threading.Event()
failed = []

def fail(details):
    failed.append(details.exc_value)
    threading.__excepthook__(details)

threading.excepthook = fail

def fresh(r):
    return gb.ones(*r.choice(SIZES))

CHANGES = {
    "data": [lambda x, y, r: setattr(x, "data", r.choice([y, fresh(r)]))],
    "set_": [lambda x, y, r: x.set_(r.choice([y, fresh(r)])), lambda x, y, r: x.set_(y.untyped_storage(), 0, (2, 2))],
    "metadata": [
        lambda x, y, r: x.t_(), lambda x, y, r: x.unsqueeze_(0), lambda x, y, r: x.squeeze_(),
        lambda x, y, r: x.as_strided_(*r.choice([((2, 2), (2, 1)), ((64, 32), (32, 1)), ((32, 64), (1, 32))])),
    ],
    "resize_": [lambda x, y, r: x.resize_(*r.choice(SIZES)), lambda x, y, r: x.resize_as_(y)],
    "storage": [lambda x, y, r: x.untyped_storage().resize_(r.choice([0, 16, 8192, 360000]))],
    "out": [lambda x, y, r: gb.add(fresh(r), 1, out=x), lambda x, y, r: gb.cumsum(fresh(r), 0, out=x)],
}
CHANGES["all"] = [change for changes in list(CHANGES.values()) for change in changes]
READS = [
    lambda x, y: x + x, lambda x, y: x + y, lambda x, y: x * 2.0, lambda x, y: x.add_(1), lambda x, y: x.sum(),
    lambda x, y: x.sum(0), lambda x, y: gb.exp(x), lambda x, y: x @ y, lambda x, y: x.t().contiguous(),
    lambda x, y: x.clone(), lambda x, y: x[0], lambda x, y: x.view(-1), lambda x, y: x.sort(), lambda x, y: x.tolist(),
    lambda x, y: gb.cat([x, y]), lambda x, y: gb.softmax(x, 0), lambda x, y: x.cumsum(0), lambda x, y: repr(x),
    lambda x, y: x.copy_(y), lambda x, y: x.fill_(2), lambda x, y: gb.where(x > 1, x, y), lambda x, y: x.flatten()[:2],
    lambda x, y: x.index_select(0, gb.tensor([0])), lambda x, y: x.expand(3, *x.shape).sum(), lambda x, y: x.max(),
    lambda x, y: bytes(x.untyped_storage()), lambda x, y: (x * weight).sum().backward(), lambda x, y: x.to(gb.float64),
    lambda x, y: gb.linalg.norm(x), lambda x, y: x.detach().mul_(0), lambda x, y: x.flip(0), lambda x, y: x.median(),
]

def work(number, calls):
    r = random.Random(seed * 100 + number)
    while not ended.is_set():
        x, y = r.choice(tensors), r.choice(tensors)
        try:
            call = r.choice(calls)
            call(x, y, r) if calls is not READS else call(x, y)
        except (RuntimeError, IndexError, ValueError, TypeError):
            pass  # sizes that do not fit
        counts[number] += 1

mutators = 1 if kind != "all" else 2
jobs = [CHANGES[kind]] * mutators + [READS] * 3
counts = [0] * len(jobs)
threads = [threading.Thread(target=work, args=job) for job in enumerate(jobs)]
for thread in threads:
    thread.start()
time.sleep(seconds)
ended.set()
for thread in threads:
    thread.join(60)
assert not any(thread.is_alive() for thread in threads), "a thread does not end"
assert not failed, failed
assert min(counts) > 0, counts
for x, kind in zip(tensors, kinds):
    with gb.no_grad():
        x.set_(gb.ones(2, 3))
    assert x.sum().item() == 6 and type(x) is kind
print("calls", *counts)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_change_under_readers(kind: str) -> None:
    seconds = max(SECONDS / len(KINDS), 1)
    seed = 0 if "CI" in os.environ else time.time_ns() % 1_000_000
    command = [sys.executable, "-c", PROGRAM, kind, str(seconds), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 180, check=False)
    assert done.returncode == 0, f"seed {seed}, exit status {done.returncode}\n{done.stderr[-6000:]}"
    assert done.stdout.startswith("calls")
