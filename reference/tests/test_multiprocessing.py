"""Tensors sent to other processes: by handle, whole storages, one mapping for each, through every kind of channel."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import queue
import resource
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import gaugeblock as gb
import gaugeblock.multiprocessing as mp
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")
STRATEGIES = sorted(mp.get_all_sharing_strategies())


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test under each strategy."""
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Let started processes import this module by the name that pytest gave it."""
    monkeypatch.syspath_prepend(pytestconfig.rootpath)


def answer_of(answers: Any) -> Any:
    """Return the next answer of a process, which may have ended without one."""
    assert answers._reader.poll(60), "no answer within a minute"
    return answers.get()


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:gaugeblock")


def segments_open() -> int:
    """Descriptors of segments that this process has."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found += "memfd:gaugeblock" in os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    return found


def add_one(received: Any, answers: Any) -> None:
    """Add 1 to every tensor that arrives until None does, and answer what it lies over."""
    while (x := received.get()) is not None:
        x += 1
        answers.put((x.untyped_storage().nbytes(), x.storage_offset(), x.stride(), x.tolist()))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_views_bring_their_storage(strategy: str, method: str) -> None:
    context = mp.get_context(method)
    given, answers = context.Queue(), context.SimpleQueue()
    process = context.Process(target=add_one, args=(given, answers))
    process.start()
    x = gb.zeros(4, 5)
    given.put(x[1:3, ::2].t())
    assert answer_of(answers) == (80, 5, (2, 5), [[1.0, 1.0]] * 3)
    assert x.tolist() == [[0.0] * 5, [1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0, 1.0], [0.0] * 5]
    assert x.is_shared()
    given.put(None)
    process.join()
    assert process.exitcode == 0


def set_all(x: Any, value: float) -> None:
    x.fill_(value)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arguments_of_processes(strategy: str, method: str) -> None:
    x = gb.zeros(3).share_memory_()
    process = mp.get_context(method).Process(target=set_all, args=(x, 2.0))
    process.start()
    process.join()
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_one_mapping_for_each_storage(strategy: str) -> None:
    here, there = mp.Pipe()
    x = gb.arange(10)
    here.send([x, x[3:], x])
    here.send(x[5:])
    x_again, tail, third = there.recv()
    later = there.recv()
    assert {one.untyped_storage() for one in (x_again, tail, third, later)} == {x.untyped_storage()}
    assert third is x_again
    tail.fill_(0)
    assert x.tolist() == [0, 1, 2] + [0] * 7


def receive_twice(channel: Any) -> None:
    gc.collect()
    before, open_before = mappings(), segments_open()
    x, y = channel.recv(), channel.recv()
    x.fill_(3)
    channel.send((mappings() - before, y.tolist(), y.untyped_storage() == x.untyped_storage()))
    del x, y
    gc.collect()
    channel.send((mappings() - before, segments_open() - open_before))


def test_receiver_maps_once_and_unmaps(strategy: str) -> None:
    here, there = mp.get_context("fork").Pipe()
    process = mp.get_context("fork").Process(target=receive_twice, args=(there,))
    process.start()
    there.close()
    x = gb.zeros(6)
    here.send(x)
    here.send(x[4:])
    assert here.recv() == (1, [3.0, 3.0], True)
    assert here.recv() == (0, 0)
    process.join()


def produce(channel: Any) -> None:
    channel.send([gb.full((100,), float(k)) for k in range(3)])
    channel.recv()


def test_received_tensors_outlive_their_sender(strategy: str) -> None:
    here, there = mp.get_context("fork").Pipe()
    process = mp.get_context("fork").Process(target=produce, args=(there,))
    process.start()
    there.close()
    received = here.recv()
    here.send(None)
    process.join()
    assert [x.sum().item() for x in received] == [0.0, 100.0, 200.0]
    received[0] += 5
    assert received[0].tolist() == [5.0] * 100


def test_queued_tensors_outlive_those_that_were_put() -> None:
    gc.collect()
    before = segments_open()
    given = mp.Queue()
    for k in range(4):
        given.put(gb.full((1000,), float(k)))
    gc.collect()
    assert [given.get(timeout=60).mean().item() for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]
    given.close()
    given.join_thread()
    gc.collect()
    assert segments_open() == before


def test_file_system_keeps_no_descriptor() -> None:
    gc.collect()
    before = segments_open()
    mp.set_sharing_strategy("file_system")
    try:
        kept = [gb.ones(3).share_memory_() for _ in range(20)]
    finally:
        mp.set_sharing_strategy("file_descriptor")
    assert segments_open() == before
    by_descriptor = [gb.ones(3).share_memory_() for _ in range(5)]
    assert segments_open() == before + 5
    assert len(kept) + len(by_descriptor) == 25


def test_more_descriptors_than_one_call_carries() -> None:
    here, there = mp.Pipe()
    given = [gb.full((2,), float(k)) for k in range(600)]
    here.send(given)
    assert [x[0].item() for x in there.recv()] == list(range(600))


def test_no_descriptor_left() -> None:
    here, there = mp.Pipe()
    given = [gb.ones(2) for _ in range(40)]
    here.send(given)
    here.send("next")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 10, hard))
    try:
        with pytest.raises(OSError, match=r"40 descriptors were sent, .* arrived: .*'file_system'"):
            there.recv()
        assert there.recv() == "next"
        with pytest.raises(RuntimeError, match="Too many open files; the strategy 'file_system'"):
            here.send([gb.ones(2) for _ in range(40)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_messages_that_nobody_reads_leave_nothing() -> None:
    gc.collect()
    before = mappings(), len(os.listdir("/proc/self/fd"))
    here, there = mp.Pipe()
    for _ in range(20):
        here.send(gb.ones(100))
    here.close()
    there.close()
    assert (mappings(), len(os.listdir("/proc/self/fd"))) == before


def test_bytes_of_a_message_bring_no_descriptor() -> None:
    here, there = mp.Pipe()
    before = segments_open()
    here.send(gb.ones(3))
    data = there.recv_bytes()
    with pytest.raises(RuntimeError, match="without its descriptors"):
        pickle.loads(data)
    assert segments_open() == before


def test_pickles_for_another_process_load_once(strategy: str) -> None:
    x = gb.arange(4)
    data = bytes(ForkingPickler.dumps(x[1:]))
    y = pickle.loads(data)
    assert y.untyped_storage() == x.untyped_storage()
    assert len(data) < 2000
    plain = pickle.loads(pickle.dumps(x))
    assert plain.untyped_storage() != x.untyped_storage()
    assert not plain.is_shared()


def test_plain_queues_send_by_handle_too() -> None:
    x = gb.zeros(1000)
    context = multiprocessing.get_context("fork")
    given, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=add_one, args=(given, answers))
    process.start()
    given.put(x)
    assert answer_of(answers)[0] == 4000
    given.put(None)
    process.join()
    assert x.sum().item() == 1000.0


def test_empty_and_other_devices_are_sent_by_value() -> None:
    here, there = mp.Pipe()
    here.send([gb.empty(0, 3), gb.ones(2, device="meta"), gb.tensor(2.5)])
    empty, meta, number = there.recv()
    assert empty.shape == (0, 3)
    assert meta.device.type == "meta"
    assert number.item() == 2.5


def test_leaves_and_parameters() -> None:
    here, there = mp.Pipe()
    leaf = gb.ones(2, requires_grad=True)
    here.send((leaf, gb.nn.Parameter(gb.ones(3))))
    received, parameter = there.recv()
    assert received.requires_grad and received.is_leaf
    assert isinstance(parameter, gb.nn.Parameter)
    with pytest.raises(RuntimeError, match="non-leaf tensor"):
        here.send(leaf * 2)
    with pytest.raises(RuntimeError, match="non-leaf tensor"):
        mp.Queue().put(leaf * 2)


def doubled(x: Any) -> Any:
    return x.mul_(2)


def test_pool(strategy: str) -> None:
    given = [gb.full((3,), float(k)) for k in range(6)]
    with mp.get_context("fork").Pool(2) as pool:
        results = pool.map(doubled, given)
    assert [x.tolist() for x in results] == [[2.0 * k] * 3 for k in range(6)]
    assert [x.tolist() for x in given] == [[2.0 * k] * 3 for k in range(6)]


def test_queue_is_multiprocessings() -> None:
    given = mp.JoinableQueue(2)
    given.put("a")
    given.put(("b", 1))
    with pytest.raises(queue.Full):
        given.put("c", timeout=0.01)
    assert given.get() == "a"
    given.task_done()
    assert given.get() == ("b", 1)
    given.task_done()
    given.join()
    with pytest.raises(queue.Empty):
        given.get(timeout=0.01)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        given.put(lambda: None)


def test_channels_are_sent_too() -> None:
    here, there = mp.Pipe()
    inner, outer = mp.Pipe(duplex=False)
    here.send(outer)
    there.recv().send(gb.ones(2))
    assert inner.recv().tolist() == [1.0, 1.0]
    with pytest.raises(OSError, match="read-only"):
        inner.send(1)


def test_names_of_the_standard_module() -> None:
    assert set(multiprocessing.__all__) <= set(dir(mp))
    assert mp.cpu_count() == multiprocessing.cpu_count()
    assert mp.get_start_method() == multiprocessing.get_start_method()
    assert mp.get_context().Process is mp.get_context(mp.get_start_method()).Process
    with pytest.raises(ValueError, match="cannot find context for 'thread'"):
        mp.get_context("thread")


def test_unknown_strategy() -> None:
    with pytest.raises(AssertionError, match="strategy 'pigeon', expected file_descriptor, file_system"):
        mp.set_sharing_strategy("pigeon")
