"""Programs that wait too little go wrong on the simulated device, those that wait do not; the page about it is true."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.cuda.devices import install_driver

PAGE = Path(__file__).parents[1] / "simulated_device.md"


@pytest.fixture
def driver() -> Iterator[Any]:
    before = install_driver(None)
    yield gb.cuda.use_driver("simulated", total_memory=64 << 20)
    gb.cuda.synchronize()
    install_driver(before)


def test_the_page_about_the_simulated_device() -> None:
    before = install_driver(None)
    scope: dict[str, Any] = {}
    try:
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
            exec(compile(block, str(PAGE), "exec"), scope)
    finally:
        install_driver(before)


@pytest.mark.parametrize("waits", [False, True])
def test_a_result_on_another_stream(driver: Any, waits: bool) -> None:
    side = gb.cuda.Stream()
    x = gb.zeros(4, device="cuda")
    gb.cuda.synchronize()
    x.add_(1)
    if waits:
        side.wait_stream(gb.cuda.current_stream())
    with gb.cuda.stream(side):
        y = x * 10
    gb.cuda.synchronize()
    assert y.tolist() == [10.0 if waits else 0.0] * 4


@pytest.mark.parametrize("records", [False, True])
def test_a_block_that_another_stream_still_uses(driver: Any, records: bool) -> None:
    side = gb.cuda.Stream()
    x = gb.ones(1000, device="cuda")
    gb.cuda.synchronize()
    with gb.cuda.stream(side):
        long = [gb.ones(200_000, device="cuda") for _ in range(5)]
        y = x * 2
    if records:
        x.record_stream(side)
    address = x.data_ptr()
    del x
    other = gb.full((1000,), 7.0, device="cuda")
    assert (other.data_ptr() == address) is not records
    gb.cuda.synchronize()
    assert y[0].item() == (2.0 if records else 14.0)
    assert long[0][0].item() == 1.0


@pytest.mark.parametrize("waits", [False, True])
def test_pinned_memory_on_its_way(driver: Any, waits: bool) -> None:
    source, there = gb.ones(8).pin_memory(), gb.zeros(8, device="cuda")
    there.copy_(source, non_blocking=True)
    if waits:
        gb.cuda.current_stream().synchronize()
    source.fill_(5)
    assert there[0].item() == (1.0 if waits else 5.0)
    back = gb.zeros(8).pin_memory()
    done = gb.cuda.Event()
    back.copy_(there + 1, non_blocking=True)
    done.record()
    assert back[0].item() == 0.0 and not done.query()
    done.synchronize()
    assert back[0].item() == (2.0 if waits else 6.0)


def test_nothing_is_left_of_streams_and_tensors(driver: Any) -> None:
    def use() -> None:
        with gb.cuda.stream(gb.cuda.Stream()):
            x = gb.ones(100, device="cuda")
            host = gb.zeros(100).pin_memory()
            host.copy_(x + 1, non_blocking=True)
            x.record_stream(gb.cuda.default_stream())
            gb.cuda.current_stream().record_event().wait(gb.cuda.default_stream())
        assert host.is_pinned()
        gb.cuda.synchronize()

    use()
    gc.collect()
    gb.cuda.empty_cache()
    from gaugeblock.cuda.pinned_memory import pinned_memory

    pinned_memory().empty_cache()
    live = driver.live(0)
    assert (live.pointers, live.bytes, live.pinned, live.pending) == (0, 0, 0, 0)
    assert live.events <= 1, "the allocator keeps its event for the next time"


def test_threads_share_the_memory_of_a_device(driver: Any) -> None:
    wrong: list[object] = []

    def use(number: int) -> None:
        side = gb.cuda.Stream()
        with gb.cuda.stream(side):
            for turn in range(30):
                x = gb.full((1000,), float(turn), device="cuda")
                found = (x * 2 + number)[999].item()
                if found != 2 * turn + number:
                    wrong.append((number, turn, found))

    threads = [Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    gb.cuda.empty_cache()
    assert not wrong and driver.live(0).pointers == 0
