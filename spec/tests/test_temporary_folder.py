"""Temporary folders: removed with their process, with a block, or by the next process after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock_spec.temporary_folder import LOCK, TemporaryFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
MAKE = "import os, sys, signal; from gaugeblock_spec.temporary_folder import TemporaryFolder\n"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run([sys.executable, "-c", MAKE + code], env=environment, capture_output=True, text=True)


def test_the_folder_is_removed_at_the_end_of_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TemporaryFolder("made-") as path:
        Path(path, "below").mkdir()
        assert os.stat(path).st_mode & 0o777 == 0o700 and Path(path).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError", "one.remove(); one.remove()"])
def test_the_folder_is_removed_at_the_end_of_the_process(end: str, tmp_path: Path) -> None:
    done = run(f"one = TemporaryFolder('made-')\nprint(os.path.isdir(one.path))\n{end}", tmp_path)
    assert done.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_removes_only_its_own_folder(tmp_path: Path) -> None:
    code = """
one = TemporaryFolder("made-")
child = os.fork()
if not child:
    own = TemporaryFolder("made-")
    print(os.path.isdir(one.path), os.path.isdir(own.path), flush=True)
    one.remove()
    sys.exit()
os.waitpid(child, 0)
print(sorted(os.listdir(os.environ["TMPDIR"])) == [os.path.basename(one.path)])
"""
    assert run(code, tmp_path).stdout == "True True\nTrue\n"
    assert list(tmp_path.iterdir()) == []


def test_a_child_of_multiprocessing_removes_its_own_folder(tmp_path: Path) -> None:
    code = """
import multiprocessing
def work():
    print(os.path.isdir(TemporaryFolder("made-").path), flush=True)
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
print(os.listdir(os.environ["TMPDIR"]))
"""
    assert run(code, tmp_path).stdout == "True\n[]\n"


def test_the_next_process_removes_folders_of_killed_ones(tmp_path: Path) -> None:
    kill = "os.kill(os.getpid(), signal.SIGKILL)"
    assert run(f"one = TemporaryFolder('made-'); {kill}", tmp_path).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    others = [tmp_path / "made-without-lock", tmp_path / "another-prefix"]
    for other in others:
        other.mkdir()
    (others[1] / LOCK).write_text("")
    linked = tmp_path / "made-link"
    linked.symlink_to(others[1])
    run("TemporaryFolder('made-')", tmp_path)
    assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted([*others, linked]) and (others[1] / LOCK).exists()


def test_a_child_keeps_its_folder_after_its_parent_is_killed(tmp_path: Path) -> None:
    code = """
one = TemporaryFolder("made-")
parent = os.getpid()
if not os.fork():
    while os.getppid() == parent:
        pass
    TemporaryFolder("made-").remove()
    print(os.path.isdir(one.path), flush=True)
    os._exit(0)
os.kill(parent, signal.SIGKILL)
"""
    assert run(code, tmp_path).stdout == "True\n"
    run("TemporaryFolder('made-')", tmp_path)
    assert list(tmp_path.iterdir()) == []
