"""``gaugeblock support``: verdicts of cells, the forms of the table, and what is refused."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_conformance import command, discovery, rerun
from gaugeblock_conformance.backends import reference_routes
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.failure import ConformanceError
from gaugeblock_conformance.session import Session
from gaugeblock_conformance.support import layouts
from gaugeblock_conformance.support.cells import cells, check
from gaugeblock_conformance.support.examples import EXAMPLES
from gaugeblock_conformance.support.table import Column, Verdict, chosen, column
from gaugeblock_conformance.support.text import FORMATS, LETTERS
from gaugeblock_spec import operators


def test_every_row_has_its_cells() -> None:
    found = cells()
    assert len(found) == len(set(found)) == sum(len(row.dtypes) for row in operators.load().values())
    assert set(EXAMPLES) <= set(operators.load())


def test_layouts_have_cells_of_operators_that_read_tensors() -> None:
    found = layouts.cells()
    assert ("abs", "sparse_csr") in found and ("mm", "blocked") in found
    assert not {"arange", "neg_", "rand_like"} & {operator for operator, _ in found}


def test_layouts_of_the_reference() -> None:
    wanted = [
        ("abs", "sparse_coo"), ("abs", "sparse_csr"), ("abs", "sparse_csc"), ("abs", "blocked"), ("exp", "sparse_coo"),
        ("relu", "blocked"), ("mm", "sparse_csr"), ("conv2d", "sparse_csc"), ("abs", "sparse_bsr"),
        ("sigmoid", "quantized"), ("max.dim", "quantized"), ("exp", "quantized"),
    ]  # fmt: skip
    found = column("reference", wanted, jobs=1).verdicts
    assert [found[cell].kind for cell in wanted] == [
        "supported", "supported", "supported", "unsupported", "unsupported", "supported", "supported", "untried",
        "supported", "supported", "supported", "unsupported",
    ]  # fmt: skip
    assert "SparseCPU" in found["exp", "sparse_coo"].text


def test_backends_without_a_layout_do_not_support_it() -> None:
    found = column("numpy", [("abs", "sparse_coo")], jobs=1).verdicts["abs", "sparse_coo"]
    assert (found.kind, found.text) == ("unsupported", "abs: the backend has no tensors of layout sparse_coo")


def test_another_result_than_of_strided_tensors_is_wrong() -> None:
    class Halved(ReferenceBackend):
        def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
            result = super().call(operator, *args, **kwargs)
            wrong = operator == "neg" and not self.is_strided(args[0])
            return super().call("mul.Tensor", result, 0.5) if wrong else result

    session = Session(Halved("cpu"), QUICK)
    with pytest.raises(ConformanceError, match="neg of a sparse_coo tensor gives another result than of a strided one"):
        layouts.check(session, "neg", "sparse_coo")


def test_wrong_results_of_dtypes_that_numpy_lacks_are_run_again() -> None:
    class Shortened(ReferenceBackend):
        def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
            result = super().call(operator, *args, **kwargs)
            return result[:1] * 3 if operator == "split_copy.Tensor" and args[0].is_quantized else result

    backend = Shortened("cpu")
    session = Session(backend, QUICK)
    with pytest.raises(ConformanceError, match="of a quantized tensor gives another result") as caught:
        layouts.check(session, "split_copy.Tensor", "quantized")
    caught.value.again = lambda other: layouts.check(other, "split_copy.Tensor", "quantized")
    assert rerun.told(backend, session, session.last_operator(), caught.value) is caught.value


def test_verdicts_of_fakes(fakes: Path) -> None:
    wanted = [("neg", "float32"), ("neg", "int8"), ("abs", "float32"), ("maximum", "float32"), ("stft", "float32")]
    found = column("fake_backends:PartlyWrong", wanted, jobs=1).verdicts
    kinds = {cell: verdict.kind for cell, verdict in found.items()}
    assert kinds == {
        ("neg", "float32"): "native",
        ("neg", "int8"): "wrong",
        ("abs", "float32"): "crashed",
        ("maximum", "float32"): "fallback",
        ("stft", "float32"): "untried",
    }
    assert "wrong value of neg's result" in found["neg", "int8"].text
    assert "SIGABRT" in found["abs", "float32"].text


def test_refusals_are_unsupported(fakes: Path) -> None:
    found = column("fake_backends:PartlyWrong", [("sin", "float32"), ("exp", "float32")], jobs=1).verdicts
    assert {verdict.kind for verdict in found.values()} == {"unsupported"}
    assert "no sin here" in found["sin", "float32"].text


@pytest.mark.parametrize("operator", sorted(EXAMPLES))
def test_examples_hold_for_the_reference(operator: str) -> None:
    right = discovery.load(discovery.resolve("reference"))
    session = Session(right, QUICK)
    check(session, operator, "float32")
    assert session.outcome.examples == 1


@pytest.mark.parametrize("name", ["clamp.Tensor", "where.Scalar", "i0", "sum", "linalg_solve_ex", "arange", "sort"])
def test_reference_supports_its_dtypes(name: str) -> None:
    right = discovery.load(discovery.resolve("reference"))
    for dtype in operators.load()[name].dtypes if name != "where.Scalar" else ("float32", "int64"):
        session = Session(right, QUICK)
        check(session, name, dtype)
        assert session.outcome.examples == session.outcome.figures["calls"] >= 1


def _columns() -> list[Column]:
    cells = [("neg", "float32"), ("neg", "int8"), ("add.Tensor", "bool"), ("sum", "int64")]
    kinds = ("wrong", "unsupported", "crashed", "untried")
    bad = {cell: Verdict(kind, "\x1b[31mred\nlines|") for cell, kind in zip(cells, kinds, strict=True)}
    good = {cell: Verdict("native") for cell in cells}
    return [Column("one", "one", "1", "cpu", good), Column("two:x", "two", "2\x07", "x", bad)]


def test_terminal_and_markdown_show_words_of_letters() -> None:
    text = FORMATS["terminal"](_columns())
    assert "\x1b" not in text and "\x07" not in text
    (line,) = [line for line in text.splitlines() if line.strip().startswith("neg")]
    assert line.split() == ["neg", "n", "n", "-", "W"]
    assert "two:x: neg float32: wrong:" in text
    assert "two:x (two 2 ): 1 unsupported, 1 wrong, 1 crashed, 1 untried" in text
    page = FORMATS["markdown"](_columns())
    assert "| `neg`" in page and "\x1b" not in page
    assert len(set(LETTERS.values())) == len(LETTERS)


def test_csv_and_json_have_a_line_for_each_cell() -> None:
    rows = list(csv.reader(io.StringIO(FORMATS["csv"](_columns()))))
    assert rows[0] == ["operator", "family", "dtype", "one", "two:x"]
    assert rows[1] == ["neg", "pointwise", "float32", "native", "wrong"]
    assert len(rows) == 5
    document = json.loads(FORMATS["json"](_columns()))
    assert document["schema"] == "gaugeblock-support/1"
    assert next(c["verdicts"] for c in document["cells"]) == ["native", "wrong"]


def test_command(fakes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake = "fake_backends:PartlyWrong"
    out = tmp_path / "table.csv"
    given = ["support", fake, "numpy", "--op", "neg", "--format", "csv", "--out", str(out), "--jobs", "1"]
    assert command.main(given) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert {row["numpy"] for row in rows if row["dtype"] not in layouts.LAYOUTS} == {"supported"}
    assert {row["numpy"] for row in rows if row["dtype"] in layouts.LAYOUTS} == {"unsupported"}
    assert {row[fake] for row in rows if row["dtype"] == "int8"} == {"wrong"}
    capsys.readouterr()
    for wrong, told in (
        (["support", "nonesuch"], "unknown backend 'nonesuch'"),
        (["support", "numpy", "--op", "nonesuch"], "unknown operator 'nonesuch'"),
        (["support", "numpy", "--family", "nonesuch"], "unknown family 'nonesuch'; known: "),
        (["support", "numpy", "--format", "nonesuch"], "unknown format 'nonesuch'; known: "),
        (["support", "numpy", "--op", "neg", "--family", "view"], "no operator is in both"),
        (["support", "numpy", "--op", "neg", "--out", str(tmp_path / "no" / "x")], "no folder"),
    ):
        assert command.main(wrong) == 2
        err = capsys.readouterr().err
        assert told in err and len(err.splitlines()) == 1
    assert command.main(["support", "fake_backends:RaisesAtLoad", "--op", "neg"]) == 3


def test_choice_by_name_and_family() -> None:
    assert {name for name, _ in chosen(["add"], [])} == {"add.Tensor", "add.Scalar"}
    assert {operators.load()[name].family for name, _ in chosen([], ["view"])} == {"view"}


def test_reference_tells_its_routes() -> None:
    right: Any = discovery.load(discovery.resolve("reference"))
    routes = {"add.Tensor": "native", "sum": "native", "linalg_qr": "fallback", "conv2d": "fallback", "t": None}
    assert {name: right.support(name) for name in routes} == routes
    assert right.support("no_such_operator") is None
    found = column("reference", [("add.Tensor", "float32"), ("linalg_qr", "float64")], jobs=1).verdicts
    assert [verdict.kind for verdict in found.values()] == ["native", "fallback"]


def test_torch_tells_its_routes() -> None:
    pytest.importorskip("torch")
    peer: Any = discovery.load(discovery.resolve("torch:cpu"))
    routes = {"add.Tensor": "native", "linalg_qr": "native", "square": "fallback", "conv2d": "fallback", "t": None}
    assert {name: peer.support(name) for name in routes} == routes
    assert peer.support("__getitem__") is None


def test_named_modules_of_kernels_exist() -> None:
    for module in (*reference_routes._COMPILED, *(name.rstrip(".") for name in reference_routes._CARRIED)):
        assert importlib.util.find_spec(f"gaugeblock.operators.{module}") is not None, module
