"""What fails in an adapter itself is told as the adapter's, before anything is said of the backend."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gaugeblock_conformance import command, discovery
from gaugeblock_conformance.backend import Backend, Unsupported, numpy_dtype
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.problem import BackendProblem
from gaugeblock_conformance.runner import pool
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_conformance.runner.preflight import DTYPES, check_adapter, sample, withdrawn_of
from gaugeblock_conformance.runner.run import Options, Record, validate
from gaugeblock_conformance.runner.selection import Selection
from gaugeblock_reports import html, markdown, terminal
from gaugeblock_reports import record as run_record

STOPS = {
    "Narrow": ("2-d values of bool", "came a tensor of dtype 'float32'", "from_numpy and dtype"),
    "Transposes": ("2-d values of float32", "came an array of (20, 2) float32", "from_numpy and to_numpy"),
    "ReadsColumns": ("2-d values of float32", "for 1.0 (0x3f800000) at (0, 1)", "from_numpy and to_numpy"),
    "OneDim": ("0-dim values of float32", "came a tensor of shape (1,)", "from_numpy and shape"),
    "NoEmpty": ("empty values of float32", "to_numpy raised ValueError: no bytes to copy", "to_numpy"),
    "NamesNatively": ("2-d values of float32", "came a tensor of dtype 'np.float32'", "from_numpy and dtype"),
    "Swallows": ("exception through call", "call('neg') without operands came no exception but None", "call"),
    "SwallowsAll": ("call of an unknown operator", "came an answer of type NoneType", "call"),
    "TakesAnyName": ("call of an unknown operator", "came an answer of type function", "call"),
    "NoFormats": ("call of an unknown operator", "came AttributeError: module 'chip' has", "from_numpy"),
    "LacksNames": ("call of an unknown operator", "came AttributeError:", "raise Unsupported"),
}
WITHDRAWN = {
    "NarrowDoubles": (("float64",), "2-d values of float64", "from_numpy and to_numpy"),
    "HalfByTable": (("half",), "(0x7e00) for nan (0x7e01)", "from_numpy and to_numpy"),
    "Conjugates": (("complex",), "2-d values of complex64", "from_numpy and to_numpy"),
    "OffsetInBytes": (("as_strided",), "the view offset, Tensor(float32", "call('as_strided')"),
    "TellsOffsetInBytes": (("strided",), "came 8 for 2", "storage_offset, which counts elements"),
    "TellsStridesInBytes": (("strided",), "came (12, 4) for (3, 1)", "strides, which counts elements"),
    "OneStorage": (("storage", "strided"), "two tensors of from_numpy came the same id, 0", "storage_id"),
    "EachItsStorage": (("storage", "strided"), "a tensor and a view at its address came two", "storage_id"),
    "NoAddress": (("storage",), "data_ptr raised AttributeError: no data_ptr", "data_ptr"),
}
RIGHT = (
    "broken_adapters:QuietsHalves", "broken_adapters:NumpyBackend", "reference", "reference:meta", "array_api:numpy",
    "fake_backends:Healthy", "fake_backends:Wrong", "fake_backends:PartlyWrong", "hostile_backends:OffersNothing",
    "hostile_backends:Flatters", "hostile_backends:FlattersByShape",
)  # fmt: skip


@pytest.fixture
def adapter(fakes: Path) -> Callable[[str], Backend]:
    """Return a function that makes a broken adapter."""

    def make(name: str) -> Backend:
        made: Backend = getattr(importlib.import_module("broken_adapters"), name)()
        return made

    return make


@pytest.mark.parametrize("name", STOPS)
def test_an_adapter_that_carries_nothing_ends_the_run(adapter: Callable[[str], Backend], name: str) -> None:
    check, came, members = STOPS[name]
    with pytest.raises(BackendProblem) as caught:
        check_adapter(adapter(name))
    text = str(caught.value)
    assert caught.value.exit_status == 3
    assert text.startswith(f"backend numpy: its adapter fails before anything is judged: {check}: ")
    assert came in text
    assert members in text.partition("; look at ")[2]


@pytest.mark.parametrize("name", WITHDRAWN)
def test_a_capability_that_fails_alone_is_withdrawn(adapter: Callable[[str], Backend], name: str) -> None:
    names, came, members = WITHDRAWN[name]
    backend = adapter(name)
    narrowed = check_adapter(backend)
    found = withdrawn_of(narrowed)
    assert sorted(found) == sorted(names)
    assert all(came in why and members in why.partition("; look at ")[2] for why in found.values())
    assert narrowed.capabilities == backend.capabilities - set(names)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_adapter_is_not_accused(fakes: Path, name: str) -> None:
    backend = discovery.load(discovery.resolve(name))
    assert check_adapter(backend) is backend


def test_a_listed_capability_is_withdrawn_if_its_probe_raises() -> None:
    def fail() -> None:
        raise RuntimeError("no such kernel")

    asked: list[str] = []
    backend = NumpyBackend()
    backend.probes = {"views": fail, "inplace": lambda: None, "autograd": fail}  # type: ignore[attr-defined]
    narrowed = check_adapter(backend, asked.append)
    assert withdrawn_of(narrowed) == {"views": "tried on cpu: RuntimeError: no such kernel"}
    assert narrowed.capabilities == backend.capabilities - {"views"}
    assert [name for name in asked if name.startswith("probe")] == ["probe of inplace", "probe of views"]


def test_a_withdrawn_dtype_is_refused_and_others_are_not(adapter: Callable[[str], Backend]) -> None:
    narrowed = check_adapter(adapter("NarrowDoubles"))
    assert narrowed.to_numpy(narrowed.from_numpy(np.ones(2, np.float32))).tolist() == [1, 1]
    with pytest.raises(Unsupported, match="float64: withdrawn, since the adapter does not carry it"):
        narrowed.from_numpy(np.ones(2))


def test_a_requirement_that_wants_what_was_withdrawn_is_skipped_for_that(adapter: Callable[[str], Backend]) -> None:
    row = run_requirement(check_adapter(adapter("HalfByTable")), "dtypes/half-formats", QUICK, 0)
    assert row["status"] == "skipped"
    assert "withdrawn capability half" in (row["reason"] or "")


@pytest.mark.parametrize("dtype", [name for names in DTYPES.values() for name in names])
def test_samples_hold_what_is_lost_most_easily(dtype: str) -> None:
    array = sample(dtype, (2, 20))
    assert array.dtype == numpy_dtype(dtype)
    assert sample(dtype, ()).item().real == 1
    if array.dtype.kind in "iu":
        assert {np.iinfo(array.dtype).min, np.iinfo(array.dtype).max} <= set(array.ravel().tolist())
    elif dtype != "bool":
        with np.errstate(invalid="ignore"):
            reals = array.real.astype(np.float64)
        assert np.isnan(reals).any()
        assert np.signbit(reals[reals == 0]).any()


def test_the_run_tells_what_is_withdrawn_everywhere(fakes: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    record = _run(tmp_path, "OffsetInBytes", ("views/clone",), notes)
    run_record.check(record)
    why = record["environment"]["withdrawn"]["as_strided"]
    assert why.startswith("views built by as_strided: of the view offset, ")
    assert "as_strided" not in record["environment"]["capabilities"]
    told = "withdrawn: as_strided, which the adapter does not carry"
    assert any(note.startswith(f"{told}: views built") for note in notes)
    assert told in " ".join(terminal.render([record]).split())
    assert told.replace("_", r"\_") in markdown.render([record])
    assert "<dt>withdrawn</dt><dd>as_strided: views built by as_strided" in html.render([record])
    assert [row["status"] for row in record["requirements"]] == ["passed"]


def test_a_record_of_a_right_adapter_tells_of_nothing_withdrawn(fakes: Path, tmp_path: Path) -> None:
    assert "withdrawn" not in _run(tmp_path, "QuietsHalves", ("views/clone",), [])["environment"]


def test_a_crash_in_a_check_is_told_with_the_check(fakes: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendProblem, match="fails the check 'views built by as_strided': the process ended with sig"):
        _run(tmp_path, "DiesOnViews", ("views/clone",), [])


def test_a_capability_whose_probe_ends_the_process_is_withdrawn(fakes: Path, tmp_path: Path) -> None:
    record = _run(tmp_path, "DiesOnProbes", ("views/clone",), [])
    ended = "tried on cpu: the process ended with signal SIGABRT"
    assert record["environment"]["withdrawn"] == {"inplace": ended, "views": ended}
    assert [row["status"] for row in record["requirements"]] == ["passed"]


def test_a_hang_in_a_check_is_told_with_the_check(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LOAD_TIMEOUT", 8.0)
    with pytest.raises(BackendProblem, match="fails the check 'empty values of float32': not ready after 8 s"):
        _run(tmp_path, "HangsOnEmpty", ("views/clone",), [], timeout=1.0)


def test_validate_ends_with_status_3(fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["validate", "broken_adapters:Transposes", "--area", "views", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert command.main(argv) == 3
    assert "its adapter fails before anything is judged: 2-d values of float32" in capsys.readouterr().err


def test_mutants_are_not_stopped() -> None:
    """A backend that is judged in this process is not checked."""
    row = run_requirement(NumpyBackend(), "dtypes/half-formats", QUICK, 0)
    assert "withdrawn" not in (row["reason"] or "")


def _run(folder: Path, backend: str, requirements: tuple[str, ...], notes: list[str], **more: float) -> Record:
    class Notes:
        def note(self, text: str) -> None:
            notes.append(text)

        def start(self, total: int, done: int) -> None: ...

        def decided(self, row: object) -> None: ...

        def finish(self) -> None: ...

    options = Options(
        f"broken_adapters:{backend}",
        folder / "out",
        Selection(requirements=requirements),
        budget="quick",
        jobs=1,
        suite="fake_suite:fake",
        check_snippets=False,
        timeout=more.get("timeout"),
        expect="none",
    )
    return validate(options, Notes())
