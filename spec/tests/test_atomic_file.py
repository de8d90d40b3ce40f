"""Atomic file writes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock_spec.atomic_file import PART, atomic_file, lock, output_file, remove_part

FULL_DISK = f"""
import resource, sys
from gaugeblock_spec.atomic_file import output_file
resource.setrlimit(resource.RLIMIT_FSIZE, ({1 << 16}, {resource.RLIM_INFINITY}))
try:
    with output_file(sys.argv[1]) as file:
        file.write(bytes({1 << 17}))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("kind", [atomic_file, output_file])
def test_the_content_arrives_when_the_block_ends(kind: object, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with kind(path) as file:  # type: ignore[operator]
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"] and path.read_text() == "new"


@pytest.mark.parametrize("kind", [atomic_file, output_file])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_keeps_the_old_file(kind: object, error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(place: Path) -> None:
        with kind(place) as file:  # type: ignore[operator]
            file.write(b"new")
            raise error

    for place in (path, tmp_path / "another"):
        with pytest.raises(error):
            fail(place)
    assert [one.name for one in tmp_path.iterdir()] == ["file"] and path.read_text() == "old"


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    assert done.stdout == "OSError\n"
    assert [one.name for one in tmp_path.iterdir()] == ["file"] and path.read_text() == "old"


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    old.chmod(0o640)
    before = os.umask(0o027)
    try:
        for path in (old, new):
            with output_file(path) as file:
                file.write(b"x")
    finally:
        os.umask(before)
    assert [oct(path.stat().st_mode & 0o777) for path in (old, new)] == ["0o640", "0o640"]


def test_links_names_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    target, link, second = tmp_path / "target", tmp_path / "link", tmp_path / "second"
    target.write_text("")
    link.symlink_to(target)
    with output_file(link) as file:
        file.write(b"by link")
    assert link.is_symlink() and target.read_text() == "by link"
    os.link(target, second)
    with output_file(second) as file:
        file.write(b"by name")
    assert target.read_text() == "by name" and target.stat().st_nlink == 2
    with output_file(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError), output_file(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX locks")
def test_only_the_parts_of_dead_writers_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_file(path):
        (part,) = tmp_path.glob(f".*{PART}")
        assert not remove_part(str(part)) and part.exists()
    code = (
        "import os, signal, sys; from gaugeblock_spec.atomic_file import atomic_file\n"
        "with atomic_file(sys.argv[1]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -signal.SIGKILL
    (part,) = tmp_path.glob(f".*{PART}")
    assert remove_part(str(part)) and not part.exists()
    assert not remove_part(str(part))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX locks")
def test_a_lock_belongs_to_one_process(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR) for _ in range(2))
    assert lock(first) and not lock(second)
    os.close(first)
    assert lock(second)
    os.close(second)
