"""A program that exchanges tensors with processes that it kills at random: ``python killed_exchanges.py STRATEGY COUNT
SEED``. It ends with status 0 if it survives COUNT exchanges, all that arrives is right, and nothing is left.

Linux alone, since it reads /proc.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gaugeblock as gb
import gaugeblock.multiprocessing as mp
from gaugeblock.multiprocessing import client

PATIENCE = 60.0
SIZES = (1, 7, 1000, 50_000)
ROUNDS = 25
"""Most exchanges with one process."""


def echo(channel: Any) -> None:
    """Write to every tensor that arrives, and send it back with a new one."""
    for _ in range(10**6):
        try:
            x = channel.recv()
        except (EOFError, OSError):
            return
        x += 1
        channel.send((x, gb.full((len(x),), 5.0)))


class Exchanges:
    """Exchanges with one process after another, each of which is killed at some time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.done = self.kills = 0
        self.kept: list[Any] = []

    def with_one_process(self) -> None:
        """Start a process, exchange tensors with it, and kill it."""
        here, there = mp.get_context("fork").Pipe()
        process = mp.get_context("fork").Process(target=echo, args=(there,))
        process.start()
        there.close()
        rounds = self.random.randint(1, ROUNDS)
        delay = self.random.random() * 0.002 * rounds
        killer = threading.Timer(delay, os.kill, (process.pid, signal.SIGKILL))
        if self.random.random() < 0.8:
            killer.start()
        try:
            for _ in range(rounds):
                self.exchange(here)
        except (EOFError, OSError):
            self.kills += 1  # it was killed while a message was under way
        finally:
            killer.cancel()
            here.close()
            process.kill()
            process.join()
            process.close()

    def exchange(self, channel: Any) -> None:
        """Send a tensor, and compare what comes back."""
        x = gb.full((self.random.choice(SIZES),), float(self.done))
        channel.send(x)
        self.done += 1
        received, made = channel.recv()
        assert received.untyped_storage() == x.untyped_storage()
        assert x[0].item() == x[-1].item() == self.done
        assert made.sum().item() == 5.0 * len(x)
        self.kept = [*self.kept[-5:], (x, made)]

    def recheck(self) -> None:
        """Read tensors whose processes have been killed since."""
        for x, made in self.kept:
            assert x[0].item() == x[-1].item()
            assert made.sum().item() == 5.0 * len(x)
        self.kept.clear()


def held() -> tuple[int, int]:
    """The descriptors of this process, and the segments that it has mapped."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().count("memfd:gaugeblock")
    return len(os.listdir("/proc/self/fd")), maps


def settled(wanted: int) -> int:
    """The number of names that managers keep, once it is what is wanted or for a while is not."""
    end = time.monotonic() + PATIENCE
    while (found := sum(one.count() for one in client._KNOWN.clients.values())) != wanted and time.monotonic() < end:
        time.sleep(0.01)
    return found


def main(strategy: str, count: int, seed: int) -> None:
    mp.set_sharing_strategy(strategy)
    objects = set(os.listdir("/dev/shm"))
    warm = gb.ones(4).share_memory_()
    names = settled(1 if strategy == "file_system" else 0)
    before = held()
    exchanges = Exchanges(seed)
    while exchanges.done < count:
        exchanges.with_one_process()
        if exchanges.random.random() < 0.2:
            exchanges.recheck()
    exchanges.recheck()
    assert warm.sum().item() == 4.0
    assert held() == before, f"descriptors and mappings are {held()}, before they were {before}"
    assert settled(names) == names, f"names are left: {settled(names)}, not {names}"
    left = {name for name in set(os.listdir("/dev/shm")) - objects if "gaugeblock" in name}
    assert not left, f"objects are left: {left}"
    print(f"{strategy}: {exchanges.done} exchanges, {exchanges.kills} kills with a message under way, nothing is left")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
