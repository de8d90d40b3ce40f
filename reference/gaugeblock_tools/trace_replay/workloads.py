"""Traces of made-up programs that allocate as training runs do. The same arguments give the same trace.

| name | what it does | what it shows |
| --- | --- | --- |
| `training_loop` | layers forward and backward, sequences that get longer, an optimizer | caches that fit no more |
| `fragments` | buffers of drawn sizes with long and short lives | free memory in pieces, splits |
| `several_streams` | batches copied on a stream of their own, gradients reduced on another | frees that wait |
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .snapshot import Frame, Stack
from .trace import Trace

MIB = 1 << 20
FLOAT = 4


def _stack(*lines: tuple[str, int, str]) -> Stack:
    """Innermost first, as recorded stacks are, and below it the loop that all of them share."""
    return tuple(Frame(*line) for line in (*lines, ("train.py", 88, "main")))


FORWARD = [_stack(("model.py", 40 + 3 * place, "forward"), ("train.py", 61, "step")) for place in range(64)]
BACKWARD = _stack(("train.py", 64, "backward"), ("train.py", 61, "step"))
WEIGHTS = _stack(("model.py", 12, "__init__"))
OPTIMIZER = _stack(("optimizer.py", 33, "step"), ("train.py", 67, "step"))
LOADER = _stack(("data.py", 20, "next_batch"), ("train.py", 59, "step"))
REDUCE = _stack(("buckets.py", 51, "all_reduce"), ("train.py", 65, "step"))
CACHE = _stack(("serve.py", 30, "grow_cache"), ("serve.py", 12, "reply"))


def training_loop(
    steps: int = 40, layers: int = 8, width: int = 1024, batch: int = 8, growth: float = 0.05, seed: int = 0
) -> Trace:
    """A loop over batches whose sequences get longer by the share `growth` per step, within a drawn tenth.

    Each layer keeps two activations for the backward pass and drops a larger one; the backward pass frees them in
    reverse and makes a gradient per layer; the first step makes the optimizer's two states.
    """
    random, trace = Random(seed), Trace()
    for place in range(layers):
        trace.alloc(width * width * FLOAT, 0, WEIGHTS)
        trace.alloc(width * FLOAT, 0, FORWARD[place % 64])
    length = 128.0
    for step in range(steps):
        rows = batch * int(length * (0.95 + 0.1 * random.random()))
        kept = []
        entry = trace.alloc(rows * width * FLOAT, 0, LOADER)
        for place in range(layers):
            stack = FORWARD[place % 64]
            kept.append((trace.alloc(rows * width * FLOAT, 0, stack), trace.alloc(rows * 4 * FLOAT, 0, stack)))
            trace.free(trace.alloc(rows * width * 4 * FLOAT, 0, stack))
        gradients = []
        for wide, narrow in reversed(kept):
            flowing = trace.alloc(rows * width * FLOAT, 0, BACKWARD)
            gradients.append(trace.alloc(width * width * FLOAT, 0, BACKWARD))
            trace.free(wide)
            trace.free(narrow)
            trace.free(flowing)
        trace.free(entry)
        if step == 0:
            for _ in range(2 * layers):
                trace.alloc(width * width * FLOAT, 0, OPTIMIZER)
        for gradient in gradients:
            trace.free(trace.alloc(width * width * FLOAT, 0, OPTIMIZER))
            trace.free(gradient)
        length *= 1 + growth
    return trace


def fragments(events: int = 4000, live: int = 200, largest: int = 24 * MIB, seed: int = 0) -> Trace:
    """Buffers of sizes drawn evenly on a logarithmic scale up to `largest`. One in eight stays for long; of the others
    any is freed as soon as more than `live` are there."""
    random, trace = Random(seed), Trace()
    short: list[int] = []
    long: list[int] = []
    while len(trace) < events:
        size = int(512 * (largest / 512) ** random.random())
        group = long if random.random() < 0.125 else short
        group.append(trace.alloc(size, 0, CACHE if group is long else FORWARD[int(size).bit_length()]))
        if len(short) > live:
            trace.free(short.pop(int(random.random() * len(short))))
        if len(long) > live // 2:
            trace.free(long.pop(int(random.random() * len(long))))
    return trace


def several_streams(steps: int = 60, buckets: int = 6, seed: int = 0) -> Trace:
    """Batches made on stream 1 and used on stream 0, gradients made on stream 0 and reduced on stream 2: both are freed
    while the other stream still works on them, and become free some events later."""
    random, trace = Random(seed), Trace()
    waiting: list[int] = []
    for _ in range(steps):
        batch = trace.alloc(int((8 + 24 * random.random()) * MIB), 1, LOADER)
        trace.record_stream(batch, 0)
        kept = [trace.alloc(int((1 + 6 * random.random()) * MIB), 0, FORWARD[place]) for place in range(buckets)]
        for block in waiting:
            trace.completed(block)
        waiting = []
        for activation in reversed(kept):
            gradient = trace.alloc(3 * MIB, 0, BACKWARD)
            trace.free(activation)
            trace.record_stream(gradient, 2)
            trace.free(trace.alloc(3 * MIB + 4096, 2, REDUCE))
            trace.free(gradient)
            waiting.append(gradient)
        trace.free(batch)
        waiting.append(batch)
    return trace


WORKLOADS: dict[str, Callable[[], Trace]] = {
    "training_loop": training_loop,
    "fragments": fragments,
    "several_streams": several_streams,
}
