"""Segments by name: handles, counts over processes, the manager's end."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import time
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import gaugeblock as gb
import gaugeblock.multiprocessing as mp
import pytest
from gaugeblock.multiprocessing import client

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")


@pytest.fixture(autouse=True)
def by_name() -> Iterator[None]:
    """Share by name."""
    gc.collect()
    mp.set_sharing_strategy("file_system")
    yield
    mp.set_sharing_strategy("file_descriptor")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    """Let started processes import this module by the name that pytest gave it."""
    monkeypatch.syspath_prepend(pytestconfig.rootpath)


def handle_of(x: Any) -> tuple[bytes, bytes, int]:
    handle: tuple[bytes, bytes, int] = x.untyped_storage()._share_filename_cpu_()
    return handle


def opened(handle: tuple[bytes, bytes, int]) -> Any:
    return gb.UntypedStorage._new_shared_filename_cpu(*handle)


def names() -> int:
    """The number of names that the manager keeps; a question comes behind all that was dropped before."""
    return client.any_client().count()


def names_become(count: int) -> bool:
    """Wait until the manager keeps so many names, for half a minute at most."""
    end = time.monotonic() + 30
    while names() != count and time.monotonic() < end:
        time.sleep(0.01)
    return names() == count


def manager_of(address: bytes) -> int:
    """The process that serves an address, found by its listening socket."""
    line = next(one for one in Path("/proc/net/unix").read_text().splitlines() if address[1:].decode() in one)
    inode = line.split()[6]
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                links = [os.readlink(one) for one in (path / "fd").iterdir()]
            except OSError:
                continue
            if f"socket:[{inode}]" in links and int(path.name) != os.getpid():
                return int(path.name)
    raise AssertionError("no manager")


def test_handle_is_address_name_and_bytes() -> None:
    x = gb.ones(25)
    address, name, nbytes = handle_of(x)
    assert (type(address), name[:12], nbytes) == (bytes, b"/gaugeblock_", 100)
    assert opened((address, name, nbytes)) == x.untyped_storage()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, n, s: (a, n + b"x", s), "unable to open shared memory object </gaugeblock_.*x>: no such object"),
        (lambda a, n, s: (b"/nowhere", n, s), "unable to open the shared memory manager at b'/nowhere': No such file"),
        (lambda a, n, s: (a, n, s + 1), "has 100 bytes, not 101"),
        (lambda a, n, s: (a, n, -1), "has 100 bytes, not -1"),
    ],
)
def test_wrong_handles(change: Any, message: str) -> None:
    x = gb.ones(25)
    before = names()
    with pytest.raises(RuntimeError, match=message):
        opened(change(*handle_of(x)))
    assert names() == before + 1


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="argument 'handle' must be bytes"):
        gb.UntypedStorage._new_shared_filename_cpu(b"a", "name", 4)
    with pytest.raises(TypeError, match="argument 'size'"):
        gb.UntypedStorage._new_shared_filename_cpu(b"a", b"name", "4")


def test_last_holder_takes_the_name_along() -> None:
    before = names()
    x = gb.ones(25)
    handle = handle_of(x)
    y = opened(handle)
    del x
    assert bytes(y)[:4] == b"\0\0\x80?"
    assert names() == before + 1
    del y
    assert names() == before
    with pytest.raises(RuntimeError, match="no such object"):
        opened(handle)


def open_and_keep(handle: tuple[bytes, bytes, int], channel: Any) -> None:
    storage = opened(handle)
    channel.send("opened")
    channel.recv()
    storage.fill_(1)
    channel.send("written")
    channel.recv()


def test_another_process_holds_it() -> None:
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    before = names()
    x = gb.zeros(25)
    handle = handle_of(x)
    process = context.Process(target=open_and_keep, args=(handle, there))
    process.start()
    there.close()
    assert here.recv() == "opened"
    del x
    again = opened(handle)
    here.send(None)
    assert here.recv() == "written"
    assert bytes(again) == b"\1" * 100
    del again
    assert names() == before + 1
    process.kill()
    process.join()
    assert names_become(before)


def wait_for(channel: Any) -> None:
    channel.recv()


def test_forked_child_holds_what_its_parent_held() -> None:
    _here, there = mp.get_context("fork").Pipe()
    before = names()
    x = gb.zeros(25).share_memory_()
    process = mp.get_context("fork").Process(target=wait_for, args=(there,))
    process.start()
    del x
    assert names() == before + 1
    process.kill()
    process.join()
    assert names_become(before)


@pytest.mark.parametrize("channel", [mp.Pipe, mp.SimpleQueue])
def test_names_under_way_are_held_by_the_message(channel: Any) -> None:
    made = channel()
    before = names()
    if isinstance(made, tuple):
        made[0].send(gb.full((25,), 2.0))
    else:
        made.put(gb.full((25,), 2.0))
    gc.collect()
    assert names() == before + 1
    received = made[1].recv() if isinstance(made, tuple) else made.get()
    assert received.tolist() == [2.0] * 25
    assert names() == before + 1
    del received
    assert names() == before


def test_lost_messages_give_their_names_back() -> None:
    before = names()
    here, there = mp.Pipe()
    here.send(gb.ones(25))
    assert names() == before + 1
    here.close()
    there.close()
    assert names_become(before)  # the kernel closes what lay in the pipe a little later


def test_tickets_of_plain_pickles() -> None:
    before = names()
    data = bytes(ForkingPickler.dumps(gb.full((25,), 3.0)))
    gc.collect()
    assert names() == before + 1
    x = pickle.loads(data)
    assert x.tolist() == [3.0] * 25
    del x
    assert names() == before
    with pytest.raises(RuntimeError, match="no such object"):
        pickle.loads(data)


def test_killed_manager_leaves_tensors_as_they_are() -> None:
    x = gb.full((25,), 4.0).share_memory_()
    address, _, _ = handle = handle_of(x)
    os.kill(manager_of(address), signal.SIGKILL)
    here, there = mp.Pipe()
    with pytest.raises(RuntimeError, match="shared memory manager at"):
        here.send(x)
    with pytest.raises(RuntimeError, match="shared memory manager at"):
        opened(handle)
    assert x.add_(1).tolist() == [5.0] * 25
    here.send(x.clone())
    assert there.recv().tolist() == [5.0] * 25


def share_and_end(channel: Any) -> None:
    client._KNOWN.clients.clear()
    x = gb.ones(25).share_memory_()
    channel.send(handle_of(x)[0])
    channel.recv()


def test_manager_ends_with_its_last_process() -> None:
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=share_and_end, args=(there,))
    process.start()
    there.close()
    pid = manager_of(here.recv())
    process.kill()
    process.join()
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()
