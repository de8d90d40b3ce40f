"""``requirements``, ``backends``, ``new-backend`` and ``report``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from gaugeblock_conformance import command, discovery
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.problem import BackendProblem
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_spec import requirements as spec

KNOWN = next(iter(spec.load().values()))


def test_requirement_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["requirements", KNOWN.id]) == 0
    out = capsys.readouterr().out
    assert out.startswith(KNOWN.id)
    assert " ".join(KNOWN.sentence.split()) in " ".join(out.split())
    for word in (KNOWN.level, *KNOWN.capabilities, *KNOWN.origin):
        assert word in out
    assert max(len(line) for line in out.splitlines() if ".py:" not in line) <= 100


def test_list_of_requirements(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["requirements", "--area", KNOWN.area]) == 0
    out = capsys.readouterr().out
    own = [requirement for requirement in spec.load().values() if requirement.area == KNOWN.area]
    assert out.startswith(f"{KNOWN.area} ({len(own)})\n")
    assert len(out.splitlines()) == len(own) + 1


def test_unknown_requirement(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["requirements", KNOWN.id[:-1]]) == 2
    assert f"did you mean {KNOWN.id}" in capsys.readouterr().err
    assert command.main(["requirements", "nope/x"]) == 2
    assert f"unknown requirement 'nope/x'; known: {KNOWN.area}/..., " in capsys.readouterr().err
    assert command.main(["requirements", "--area", "nonesuch"]) == 2
    assert "unknown area 'nonesuch'; known: " in capsys.readouterr().err


def test_backends(fakes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["backends", "fake_backends:Healthy", "fake_backends:RaisesAtLoad"]) == 3
    out = capsys.readouterr().out
    assert "  healthy 1.2.3+local on cpu\n" in out
    assert "capabilities: core" in out
    assert "  does not load: RuntimeError: the driver is missing\n" in out


def test_new_backend_runs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["new-backend", "my-chip", "--dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    path = tmp_path / "my_chip_backend.py"
    assert f"gaugeblock validate {path}:MyChipBackend --budget quick" in out
    assert "TEMPLATE" not in path.read_text()
    backend = discovery.load(discovery.resolve(f"{path}:MyChipBackend"))
    assert backend.name == "my-chip"
    done = subprocess.run(
        [sys.executable, "-m", "gaugeblock_conformance", "validate", f"{path}:MyChipBackend", "--budget", "quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conforming: " in done.stdout


def test_a_new_backend_is_found_by_its_name_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(["validate", "my-chip"]) == 2
    assert "known: array" in (said := capsys.readouterr().err)
    assert "(or package.module:Class, or path/to/file.py:Class)" in said
    assert command.main(["new-backend", "my-chip"]) == 0
    resolved = discovery.resolve("my-chip:cpu")
    assert (resolved.module, resolved.attribute, resolved.device) == ("my_chip_backend.py", "MyChipBackend", "cpu")
    assert resolved.slug == "my-chip-cpu"
    assert discovery.load(resolved).name == "my-chip"
    assert command.main(["validate", "my_chip_backend.py"]) == 3
    assert "name its class, as in my_chip_backend.py:MyChipBackend" in capsys.readouterr().err


def test_observers_belong_to_capabilities(tmp_path: Path) -> None:
    """What the template says of them: without strided and storage the adapter needs no strides and no storages."""
    assert command.main(["new-backend", "flat", "--dir", str(tmp_path)]) == 0
    path = tmp_path / "flat_backend.py"
    whole = path.read_text()
    head, _, rest = whole.partition("    # A backend that lists neither capability")
    path.write_text(head + rest[rest.index("\n\ndef _owner") :])
    address = discovery.resolve(f"{path}:FlatBackend")
    with pytest.raises(BackendProblem, match="capability 'strided' needs a method strides"):
        discovery.load(address)
    path.write_text(path.read_text().replace('{"core", "strided", "storage"}', '{"core"}'))
    backend = discovery.load(address)
    with pytest.raises(Unsupported, match="storage_id: the adapter does not show it"):
        backend.storage_id(None)
    row = run_requirement(backend, "operators/every-operator-gives-what-its-row-says", QUICK, 0)
    assert row["status"] in ("passed", "partial"), row["failure"]
    assert run_requirement(backend, "storage/data-address-follows-offset", QUICK, 0)["status"] == "skipped"


def test_every_command_names_the_form_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("validate", "gradcheck", "support"):
        with pytest.raises(SystemExit):
            command.main([name, "--help"])
        assert "path/to/file.py:Class" in " ".join(capsys.readouterr().out.split())


def test_requirements_are_suggested_by_their_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["requirements", "views/stride-zero-expand"]) == 2
    assert "did you mean views/expand-has-stride-zero" in capsys.readouterr().err
    assert command.main(["requirements", "storage/expand-has-stride-zero"]) == 2
    assert "did you mean views/expand-has-stride-zero" in capsys.readouterr().err
    assert command.main(["requirements", "views/nope"]) == 2
    assert command.main(["requirements", "operators/kron-takes-any-strides"]) == 2
    assert "was retired on 2026-11-24; operators/every-operator-gives-what-its-row-says" in capsys.readouterr().err
    assert command.main(["requirements", "views/nope"]) == 2
    assert "unknown requirement 'views/nope'; known: storage/..., views/..., " in capsys.readouterr().err


def test_new_backend_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["new-backend", "chip", "--dir", str(tmp_path)]) == 0
    assert command.main(["new-backend", "chip", "--dir", str(tmp_path)]) == 2
    assert "exists already; nothing was written" in capsys.readouterr().err


def test_new_backend_of_a_word_of_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["new-backend", "class", "--dir", str(tmp_path)]) == 2
    assert "backend name 'class': that is a word of Python's own" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["3d", "a.b", "Chip", "ü", ""])
def test_new_backend_name(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["new-backend", name, "--dir", str(tmp_path)]) == 2
    assert f"backend name {name!r}: allowed are" in capsys.readouterr().err


def test_new_backend_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["new-backend", "chip", "--dir", "/dev/null/x"]) == 2
    assert "--dir /dev/null/x: cannot write there" in capsys.readouterr().err


def test_resolve_prefers_installed_names() -> None:
    resolved = discovery.resolve("torch:meta")
    assert (resolved.attribute, resolved.device, resolved.slug) == ("TorchBackend", "meta", "torch-meta")
    resolved = discovery.resolve("my.package:Chip:1")
    assert (resolved.module, resolved.attribute, resolved.device) == ("my.package", "Chip", "1")


@pytest.mark.parametrize(
    ("file", "rest", "slug"),
    [
        ("paddle_backend.py", "PaddleBackend", "paddle_backend"),
        ("paddle_backend.py", "PaddleBackend:gpu:0", "paddle_backend-gpu-0"),
        ("sub/mlx.py", "MlxBackend", "mlx"),
        ("sub/mlx.py", "Other", "mlx-Other"),
    ],
)
def test_run_folder_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, rest: str, slug: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).touch()
    assert discovery.resolve(f"{file}:{rest}").slug == slug
    assert discovery.resolve(f"{tmp_path / file}:{rest}").slug == slug
    assert discovery.resolve("array_api:mlx.core").slug == "array_api-mlx.core"


def test_the_version_is_told_without_the_commands() -> None:
    text = """
import sys
from gaugeblock_conformance import command
try:
    command.main(["--version"])
except SystemExit as done:
    assert done.code == 0
assert not {"numpy", "hypothesis", "gaugeblock"} & set(sys.modules), sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gaugeblock ")


def test_the_command_line_does_not_import_backends() -> None:
    code = "import sys, gaugeblock_conformance.commands.validate; sys.exit('torch' in sys.modules)"
    assert importlib.util.find_spec("gaugeblock_conformance") is not None
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
