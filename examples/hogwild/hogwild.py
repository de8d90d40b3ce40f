"""Trains one net by several processes that write to its parameters without a lock (Hogwild).

    python examples/hogwild/hogwild.py --processes 4

prints the loss on fresh samples before and after, and how many steps each process took.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import gaugeblock as gb
import gaugeblock.multiprocessing as mp

BATCH = 32


def net() -> Any:
    """A perceptron with two inputs and three classes."""
    return gb.nn.Sequential(gb.nn.Linear(2, 16), gb.nn.ReLU(), gb.nn.Linear(16, 3))


def samples(count: int) -> tuple[Any, Any]:
    """Points of the plane around three centres, and the centre that each belongs to."""
    classes = gb.randint(0, 3, (count,))
    centres = gb.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return centres[classes] + 0.5 * gb.randn(count, 2), classes


def loss_of(model: Any, count: int = BATCH) -> Any:
    """The cross entropy on fresh samples."""
    points, classes = samples(count)
    return gb.nn.functional.cross_entropy(model(points), classes)


def train(model: Any, taken: Any, place: int, steps: int, rate: float) -> None:
    """Take `steps` steps on a model that other processes train too, and count them at a place of `taken`.

    The parameters lie in memory that all processes see; each has gradients of its own. A step that two of them take at
    once may lose one of the updates, and training goes on all the same.
    """
    gb.manual_seed(place)
    gb.set_num_threads(1)
    optimiser = gb.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss_of(model).backward()
        optimiser.step()
        taken[place] += 1


def trained(
    processes: int, steps: int, rate: float = 0.05, method: str | None = None
) -> tuple[float, float, list[int]]:  # fmt: skip
    """Train a net by several processes; return the loss before and after, and the steps that each process took.

    Raises RuntimeError if a process fails.
    """
    gb.manual_seed(0)
    model = net().share_memory()
    taken = gb.zeros(processes, dtype=gb.int64).share_memory_()
    before = loss_of(model, 1000).item()
    context = mp.get_context(method)
    workers = [
        context.Process(target=train, args=(model, taken, place, steps, rate)) for place in range(processes)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failed = [worker.exitcode for worker in workers if worker.exitcode]
    if failed:
        raise RuntimeError(f"{len(failed)} of {processes} processes failed, the first with status {failed[0]}")
    return before, loss_of(model, 1000).item(), taken.tolist()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Train one net by several processes without a lock.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200, help="of each process")
    parser.add_argument("--method", choices=["fork", "spawn", "forkserver"], help="how processes are started")
    given = parser.parse_args(arguments)
    before, after, taken = trained(given.processes, given.steps, method=given.method)
    print(f"loss {before:.3f} before, {after:.3f} after {sum(taken)} steps of {len(taken)} processes: {taken}")


if __name__ == "__main__":
    main(sys.argv[1:])
