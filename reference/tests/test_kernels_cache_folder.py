"""The cache folder: its path, which folders are trusted, and which files are read."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gaugeblock.kernels import object_cache as module
from gaugeblock.kernels.object_cache import (
    MAX_FILE,
    CacheFolder,
    UntrustedFolder,
    cache_place,
    trusted_folder,
)

OTHER = 54321


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GAUGEBLOCK_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


@pytest.fixture
def owned(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, int], None]:
    """Make a path appear to belong to a user."""
    owners: dict[str, int] = {}
    lstat, fstat = os.lstat, os.fstat

    def changed(status: os.stat_result, owner: int) -> os.stat_result:
        values = list(status)
        values[stat.ST_UID] = owner
        return os.stat_result(values)

    def fake_lstat(path: str) -> os.stat_result:
        status = lstat(path)
        return changed(status, owners[str(path)]) if str(path) in owners else status

    def fake_fstat(handle: int) -> os.stat_result:
        status = fstat(handle)
        for path, owner in owners.items():
            if os.path.samestat(lstat(path), status):
                return changed(status, owner)
        return status

    monkeypatch.setattr(module.os, "lstat", fake_lstat)
    monkeypatch.setattr(module.os, "fstat", fake_fstat)
    return lambda path, owner: owners.__setitem__(str(path), owner)


def test_the_place_follows_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_place() == str(home / ".cache/gaugeblock/kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_place() == str(home / ".cache/gaugeblock/kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "caches"))
    assert cache_place() == str(home / "caches/gaugeblock/kernels")
    monkeypatch.chdir(home)
    monkeypatch.setenv("GAUGEBLOCK_CACHE_DIR", "mine")
    assert cache_place() == str(home / "mine")


def test_an_unknown_home_gives_no_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> pwd.struct_passwd:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    assert cache_place() is None
    for value in ("~", "relative"):
        monkeypatch.setenv("HOME", value)
        assert cache_place() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert cache_place() == str(home / "gaugeblock/kernels")


def test_missing_folders_are_made_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert trusted_folder(str(tmp_path / "a/b/../c")) == str(tmp_path / "a/c")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/c")] == [0o700] * 3


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o702])
def test_a_folder_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UntrustedFolder, match=r"folder is writable by other users \(run chmod go-w on it\)"):
        trusted_folder(str(folder))
    folder.chmod(mode & ~0o022)
    assert trusted_folder(str(folder)) == str(folder)


def test_a_parent_folder_that_others_may_replace_is_refused(tmp_path: Path) -> None:
    below = tmp_path / "above/below"
    below.mkdir(parents=True)
    below.parent.chmod(0o777)
    with pytest.raises(UntrustedFolder, match="above is writable by other users"):
        trusted_folder(str(below))
    below.parent.chmod(0o1777)
    assert trusted_folder(str(below)) == str(below)


def test_a_private_group_may_write_to_parent_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.stat(tmp_path)
    above = os.stat_result((0o40770, *status[1:4], 1234, 1234, *status[6:]))
    members: list[str] = []
    monkeypatch.setattr("pwd.getpwuid", lambda user: pwd.struct_passwd(("me", "", user, user, "", "/", "")))
    monkeypatch.setattr("grp.getgrgid", lambda group: type("Group", (), {"gr_mem": members}))
    module._check_above("above", above, 1234)
    members.append("somebody")
    with pytest.raises(UntrustedFolder):
        module._check_above("above", above, 1234)
    members.clear()
    with pytest.raises(UntrustedFolder):
        module._check_above("above", os.stat_result((0o40770, *status[1:4], 0, 0, *status[6:])), 0)


def test_folders_of_others_are_refused(tmp_path: Path, owned: Callable[[Path, int], None]) -> None:
    folder = tmp_path / "above/folder"
    folder.mkdir(parents=True)
    owned(folder, OTHER)
    with pytest.raises(UntrustedFolder, match=f"folder belongs to user {OTHER}"):
        trusted_folder(str(folder))
    owned(folder, os.geteuid())
    owned(folder.parent, OTHER)
    with pytest.raises(UntrustedFolder, match=f"above belongs to user {OTHER}"):
        trusted_folder(str(folder))
    assert CacheFolder(folder).read("x") is None and not CacheFolder(folder).write("x", b"")


def test_links_are_followed_where_their_owner_is_trusted(tmp_path: Path, owned: Callable[[Path, int], None]) -> None:
    folder, link, round_ = tmp_path / "folder", tmp_path / "link", tmp_path / "round"
    link.symlink_to("folder")
    round_.symlink_to("round")
    assert trusted_folder(str(link / "below")) == str(folder / "below")
    with pytest.raises(UntrustedFolder):
        trusted_folder(str(round_))
    owned(link, OTHER)
    with pytest.raises(UntrustedFolder, match=f"link is a link of user {OTHER}"):
        trusted_folder(str(link))


def test_a_path_that_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        trusted_folder(str(tmp_path / "file"))
    with pytest.raises(NotADirectoryError):
        trusted_folder(str(tmp_path / "file/below"))


def _fifo(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def _linked(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to("elsewhere")


def _sparse(place: Path) -> None:
    with place.open("ab") as file:
        file.truncate(MAX_FILE + 1)


CHANGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda place: place.write_bytes(b""),
    "cut off": lambda place: place.write_bytes(place.read_bytes()[:-1]),
    "one bit": lambda place: place.write_bytes(bytes([place.read_bytes()[0] ^ 1]) + place.read_bytes()[1:]),
    "longer": lambda place: place.write_bytes(place.read_bytes() + b"x"),
    "of another name": lambda place: place.write_bytes(place.with_name("other").read_bytes()),
    "writable by others": lambda place: place.chmod(0o606),
    "writable by a group": lambda place: place.chmod(0o660),
    "a link": _linked,
    "a pipe": _fifo,
    "too large": _sparse,
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_what_was_written_is_read(change: str, tmp_path: Path) -> None:
    cache = CacheFolder(tmp_path)
    assert cache.read("name") is None
    assert cache.write("name", b"content") and cache.write("other", b"another content")
    assert cache.read("name") == b"content"
    CHANGES[change](tmp_path / "name")
    assert cache.read("name") is None
    assert cache.write("name", b"new") and cache.read("name") == b"new"
    assert cache.read("other") == b"another content"


def test_files_of_others_are_not_read(tmp_path: Path, owned: Callable[[Path, int], None]) -> None:
    cache = CacheFolder(tmp_path)
    cache.write("name", b"content")
    owned(tmp_path / "name", OTHER)
    assert cache.read("name") is None
    owned(tmp_path / "name", os.geteuid())
    assert cache.read("name") == b"content"


def test_a_process_that_changes_user_leaves_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CacheFolder(tmp_path)
    cache.write("name", b"content")
    monkeypatch.setattr(module.os, "geteuid", lambda: OTHER)
    assert cache.read("name") is None and not cache.write("another", b"")
    cache.shrink(0)
    assert [one.name for one in tmp_path.iterdir()] == ["name"]


def test_files_of_killed_writers_are_removed_at_the_first_write(tmp_path: Path) -> None:
    left = tmp_path / ".0123.part"
    left.write_bytes(b"half of it")
    CacheFolder(tmp_path).write("key.o", b"content")
    assert [one.name for one in tmp_path.iterdir()] == ["key.o"]


USE = """
import os, resource, sys, warnings
warnings.simplefilter("ignore")
import gaugeblock as gb
print((gb.ones(3) + gb.ones(3)).tolist(), gb.kernels.object_cache.cache_folder().folder, flush=True)
"""


AS_USER = """
import os, sys, grp, pwd, resource, warnings
import numpy, ml_dtypes
import gaugeblock as gb
import gaugeblock_spec.operators, gaugeblock_spec.temporary_folder
gb.ones(3) + gb.ones(3)  # modules that only root can read are loaded by now
for name in [name for name in sys.modules if name.startswith("gaugeblock")]:
    del sys.modules[name]
os.setgroups([]), os.setgid({user}), os.setuid({user})
for name, value in {variables}.items():
    os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
{code}
"""


def use(code: str = USE, user: int | None = None, cwd: Path | None = None, **variables: str | None) -> list[str]:
    """Run a program with changed environment variables; return the values and the folder that it prints."""
    changed = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **({} if user else variables)}
    environment = {name: value for name, value in changed.items() if value is not None}
    program = AS_USER.format(user=user, variables=variables, code=code) if user else code
    done = subprocess.run([sys.executable, "-c", program], env=environment, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rsplit(maxsplit=1)


@pytest.mark.parametrize("end", ["", *(f"os.wait() if os.fork() else {end}" for end in ("os._exit(0)", "sys.exit()"))])
def test_without_a_folder_a_temporary_one_is_used_and_removed(end: str, tmp_path: Path) -> None:
    unsafe = tmp_path / "unsafe"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = f"{USE}\nassert len(os.listdir(gb.kernels.object_cache.cache_folder().folder)) > 2\n{end}"
    values, folder = use(code, GAUGEBLOCK_CACHE_DIR=str(unsafe), TMPDIR=str(temporary))
    assert values == "[2.0, 2.0, 2.0]" and Path(folder).parent == temporary
    assert list(temporary.iterdir()) == list(unsafe.iterdir()) == []


def test_an_unsafe_folder_in_the_variable_warns(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    code = "import gaugeblock"
    environment = {**os.environ, "GAUGEBLOCK_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert f"RuntimeWarning: GAUGEBLOCK_CACHE_DIR={tmp_path} is not used: {tmp_path} is writable" in done.stderr


def test_a_full_disk_leaves_no_parts(tmp_path: Path) -> None:
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)){USE}"
    assert use(code, GAUGEBLOCK_CACHE_DIR=str(tmp_path))[0] == "[2.0, 2.0, 2.0]"
    assert list(tmp_path.iterdir()) == []


def usable_by(user: int) -> bool:
    try:
        use("import gaugeblock", user, Path("/"), HOME="/nonexistent", XDG_CACHE_HOME=None, GAUGEBLOCK_CACHE_DIR=None)
    except AssertionError:
        return False
    return True


as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not usable_by(OTHER), reason="needs root and a readable install"
)


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a folder in which every user may make files."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@as_root
def test_an_unknown_user_without_a_home_writes_nothing_into_the_current_folder(shared: Path) -> None:
    values, folder = use(USE, OTHER, shared, HOME=None, XDG_CACHE_HOME=None, GAUGEBLOCK_CACHE_DIR=None, TMPDIR="/tmp")
    assert values == "[2.0, 2.0, 2.0]" and folder.startswith("/tmp/gaugeblock-cache-")
    assert not os.path.exists(folder) and list(shared.iterdir()) == []


@as_root
def test_objects_of_another_user_are_not_run(shared: Path) -> None:
    cache = shared / "cache"
    own = use(USE, OTHER, shared, GAUGEBLOCK_CACHE_DIR=str(cache))
    assert own == ["[2.0, 2.0, 2.0]", str(cache)]
    # The user lets everybody in; another one exchanges the objects, with right digests.
    cache.chmod(0o777)
    forge = (
        "import os; from gaugeblock.kernels.object_cache import digest\n"
        f"for name in os.listdir({str(cache)!r}):\n"
        f"    place = os.path.join({str(cache)!r}, name); os.unlink(place)\n"
        "    open(place, 'wb').write(digest(b'forged', name.encode()) + b'forged')\n"
    )
    use(forge, OTHER + 1, shared, GAUGEBLOCK_CACHE_DIR=None, HOME=None)
    for user in (OTHER, OTHER + 2, None):
        assert use(USE, user, shared, GAUGEBLOCK_CACHE_DIR=str(cache), TMPDIR="/tmp")[0] == "[2.0, 2.0, 2.0]"
    # In a folder that is safe again the files of others stay unread, and are replaced.
    cache.chmod(0o755)
    assert use(USE, OTHER, shared, GAUGEBLOCK_CACHE_DIR=str(cache)) == own
    assert {one.stat().st_uid for one in cache.iterdir()} == {OTHER}
