"""A crash is blamed on what ran, whether that built, called, read or freed, and is seen again in a fresh process."""

from __future__ import annotations

import io
import os
import resource
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.runner import supervisor
from gaugeblock_conformance.runner.environment import total_memory
from gaugeblock_conformance.runner.last_use import ended, in_use, is_building
from gaugeblock_conformance.runner.liveness import GONE
from gaugeblock_conformance.runner.run import Record
from gaugeblock_conformance.runner.trace import TraceWriter, forget, read_log, read_operator, read_trace, read_use
from gaugeblock_conformance.session import Session
from gaugeblock_reports import record as run_record
from gaugeblock_reports import summary

Run = Callable[..., Record]
DIED = "the process ended with signal SIGABRT"


def rows_of(record: Record) -> dict[str, Any]:
    run_record.check(record)
    return {row["id"]: row for row in record["requirements"]}


@pytest.mark.parametrize(
    ("backend", "told", "cause", "ends"),
    [
        ("InReading", "in to_numpy, which read a tensor", "in to_numpy", "backend.to_numpy(y1).tolist()\n"),
        ("InFreeing", "after to_numpy had returned, in freeing tensors or in a thread of its own", "in freeing tensors",
         "\ndel x, y1\n"),
        ("Segfaults", "in bitwise_not", "in bitwise_not", "backend.call('bitwise_not', x)\n"),
    ],
)  # fmt: skip
def test_what_ran_is_named_and_its_snippet_dies_too(
    run_fake: Run, backend: str, told: str, cause: str, ends: str
) -> None:
    died = DIED.replace("SIGABRT", "SIGSEGV") if backend == "Segfaults" else DIED
    name = backend if backend == "Segfaults" else f"crashing_backends:{backend}"
    record = run_fake(name, suite="fake_suite:reading", check_snippets=True)
    failure = rows_of(record)["views/read"]["failure"]
    assert failure["message"] == f"read: {died} {told}"
    assert failure["cause"] == f"{died} {cause}"
    assert failure["snippet"].endswith(ends)
    assert failure["snippet_checked"] is True, failure["snippet_result"]


def test_a_crash_in_building_blames_no_operator(run_fake: Run) -> None:
    record = run_fake("crashing_backends:InBuilding", suite="fake_suite:reading", check_snippets=True)
    row = rows_of(record)["views/sweep"]
    assert row["status"] == "crashed"
    assert row["subresults"] == {"neg": "passed", "bitwise_not": "skipped", "clone": "skipped"}
    assert row["further_failures"] == []
    failure = row["failure"]
    assert failure["operator"] is None
    assert failure["message"] == f"sweep: {DIED} in from_numpy, which built a tensor"
    assert failure["snippet"].endswith("x1 = backend.from_numpy(np.array([-1, 2, -3], dtype='int32'))\n")
    assert failure["snippet_checked"] is True, failure["snippet_result"]


@pytest.mark.parametrize("backend", ["LosesItsDevice", "LosesItsDeviceLater"])
def test_what_follows_a_lost_device_is_not_blamed(run_fake: Run, backend: str) -> None:
    record = run_fake(f"crashing_backends:{backend}", suite="fake_suite:reading", check_snippets=True)
    rows = rows_of(record)
    sweep = rows["views/sweep"]
    assert sweep["subresults"] == {"neg": "passed", "bitwise_not": "crashed", "clone": "passed"}
    assert sweep["further_failures"] == []
    failure = sweep["failure"]
    assert failure["message"] == "sweep: the backend no longer worked after bitwise_not"
    assert failure["cause"] == "the backend no longer worked after bitwise_not"
    assert "RuntimeError: the device is lost" in failure["output"]
    assert "backend.call('bitwise_not', x" in failure["snippet"]
    assert failure["snippet_checked"] is True, failure["snippet_result"]
    assert {name: row["status"] for name, row in rows.items()} == {
        "views/read": "crashed", "views/sweep": "crashed", "views/apart": "passed",
    }  # fmt: skip


def test_a_requirement_after_a_lost_device_is_judged_again(run_fake: Run) -> None:
    record = run_fake("crashing_backends:LosesItsDeviceInSilence", suite="fake_suite:fake", jobs=1)
    rows = rows_of(record)
    names = ("views/neg", "views/bitwise-not", "views/logical-not", "views/clone", "dtypes/negation")
    assert {rows[name]["status"] for name in names} == {"passed"}


def test_crashes_in_reading_have_one_cause_over_requirements(run_fake: Run) -> None:
    record = run_fake("crashing_backends:InFreeing", suite="fake_suite:reading")
    groups = summary.failures(record)
    assert [group.cause for group in groups] == [f"{DIED} in freeing tensors"]
    assert [row["id"] for row in groups[0].rows] == ["views/read", "views/sweep"]


def test_a_crash_that_needs_an_earlier_call_is_shown_by_the_whole_log(run_fake: Run) -> None:
    record = run_fake("crashing_backends:Later", suite="fake_suite:reading", check_snippets=True)
    failure = rows_of(record)["views/apart"]["failure"]
    assert failure["message"] == f"apart: {DIED} in clone"
    assert failure["snippet_checked"] is True, failure["snippet_result"]
    calls = [line for line in failure["snippet"].splitlines() if ".call(" in line]
    assert calls == ["y2 = backend.call('logical_not', x1)", "backend.call('clone', x3)"]


def test_uses_are_told_in_their_order() -> None:
    uses: list[str] = []
    texts: list[str] = []
    s = Session(NumpyBackend())
    s.trace(texts.append, uses.append)
    x = s.tensor([1.0, 2.0])
    uses.clear()
    y = s.call("neg", x)
    assert uses[:2] == ["call neg", "after neg"]
    uses.clear()
    s.expect_strides(y, (1,))
    s.expect_values(y, [-1.0, -2.0])
    reads = [use.removeprefix("read ") for use in uses if use.startswith("read ")]
    assert reads == ["strides", "shape", "dtype", "to_numpy"]
    assert texts[-1].endswith(f"{y.name}.tolist()\n")


def test_views_are_built_in_words_of_their_own() -> None:
    from gaugeblock_conformance.case import TensorCase

    uses: list[str] = []
    s = Session(NumpyBackend())
    s.trace(lambda text: None, uses.append)
    x = s.build(TensorCase("float32", (2, 3), (1, 2)))
    assert uses[:4] == ["build from_numpy", "after from_numpy", "build as_strided", "after as_strided"]
    s.call("as_strided", x, (2,), (1,), 0)
    assert "call as_strided" in uses
    assert s.read(x).shape == (2, 3)


def test_words_of_uses() -> None:
    assert in_use("signal 6", None) == ("signal 6", "signal 6")
    assert in_use("signal 6", "build as_strided") == (
        "signal 6 in as_strided, which built a tensor", "signal 6 in as_strided",
    )  # fmt: skip
    died = "the process ended with signal SIGABRT"
    assert in_use(died, "after neg")[1] == f"{died} in freeing tensors"
    late = in_use("not done after 1 s", "after neg")
    assert late == ("not done after 1 s; the last use of the backend, neg, had returned", "not done after 1 s")
    assert in_use("not done after 1 s", "call neg")[0] == "not done after 1 s in neg"
    assert in_use(GONE, "after neg") == (f"{GONE} after neg", f"{GONE} after neg")
    assert is_building("build from_numpy")
    assert not is_building("call from_numpy")
    assert not is_building(None)


def test_texts_that_were_written_over_are_not_read() -> None:
    with tempfile.TemporaryFile() as file:
        trace = TraceWriter(file.fileno())
        trace("x = zeros(2)\n")
        trace.log("[]")
        trace.at_operator("neg")
        trace.at_use("call neg")
        readers = (read_trace, read_log, read_operator, read_use)
        assert [read(file.fileno()) for read in readers] == ["x = zeros(2)\n", "[]", "neg", "call neg"]
        size = os.fstat(file.fileno()).st_size
        for junk in (b"\x01", b"\xff", b"call {x}"):
            os.pwrite(file.fileno(), (junk * size)[:size], 0)
            assert [read(file.fileno()) for read in readers] == [None] * 4
        trace.at_use("call exp")
        assert read_use(file.fileno()) == "call exp"
        forget(file.fileno())
        assert read_use(file.fileno()) is None


def test_tensors_are_freed_by_name() -> None:
    text = "import x\nx1 = f()\ny2, y3 = g(x1)\n_, y5 = h()\ny6, = k()\nx1.z = 3\n"
    assert ended(text, "after g") == f"{text}del x1, y2, y3, y5, y6\n"
    assert ended(text, "call g") == text
    assert ended("f()\n", "after f") == "f()\n"
    assert ended(None, "after f") is None


@pytest.mark.parametrize(("setting", "limited"), [("0", False), ("1", True), ("2", False)])
def test_a_system_that_grants_all_memory_refuses_what_no_machine_has(
    setting: str, limited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(supervisor, "open", lambda path: io.StringIO(f"{setting}\n"), raising=False)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.append((kind, pair)))
    supervisor._refuse_the_impossible()
    most = supervisor.TIMES * (total_memory() or 0)
    assert limits == ([(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))] if limited else [])
