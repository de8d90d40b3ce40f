"""Reads an expectation file (README.md of this folder describes it) and judges rows by it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ..problem import UsageProblem, shown, visible
from ..runner.rows import BROKEN, HELD, TEXT, Failure, Row
from ..text_file import read_bytes
from .expectation import Expectation, parse


@dataclass(frozen=True)
class Manifest:
    """The expectations of one file that apply to a device, by requirement id and operator (None: whole requirement)."""

    source: str
    expected: dict[tuple[str, str | None], Expectation]

    def of(self, requirement: str) -> dict[str | None, Expectation]:
        """Return the expectations of one requirement by operator."""
        return {operator: one for (name, operator), one in self.expected.items() if name == requirement}

    def of_some_operators(self) -> Manifest:
        """Return the expectations of a run that judges some operators alone: what whole requirements are expected to
        break for may be another operator."""
        some = {key: one if one.operator or one.operators else replace(one, sometimes=True)
                for key, one in self.expected.items()}  # fmt: skip
        return replace(self, expected=some)

    def judge(self, row: Row) -> Row:
        """The row with its status seen in the light of the expectations (the given row is not changed)."""
        found = self.of(row["id"])
        if not found:
            return row
        judged = row.copy()
        judged["subresults"] = dict(row["subresults"])
        whole = found.pop(None, None)
        held = [one for name, one in found.items() if row["subresults"].get(name or "") in HELD]
        if whole is not None and row["status"] in HELD and row["subresults"].keys() >= set(whole.operators):
            held.append(whole)
        held = [one for one in held if not one.sometimes]
        judged["subresults"].update({one.operator: "xpassed" for one in held if one.operator})
        if row["status"] in BROKEN:
            _judge_failures(judged, whole, found)
        if held and judged["status"] not in BROKEN:
            judged["status"] = "xpassed"
            judged["reason"] = "; ".join(_held(one) for one in held)
        return judged


def _held(expectation: Expectation) -> str:
    of = f" of {expectation.operator}" if expectation.operator else ""
    return f"expected to fail{of}: {expectation.reason}"


def _judge_failures(row: Row, whole: Expectation | None, by_operator: Mapping[str | None, Expectation]) -> None:
    """Mark the failures that are expected and put the others first; without others the row fails as expected."""
    unexpected: list[Failure] = []
    known: list[Failure] = []
    upstream: list[str] = []
    for failure in (row["failure"], *row["further_failures"]):
        if failure is None:
            continue
        candidates = [one for one in (by_operator.get(failure["operator"]), whole) if one is not None]
        expectation = next((one for one in candidates if one.covers(failure["message"], failure["operator"])), None)
        if expectation is None:
            unexpected.append(failure)
            if candidates and row["reason"] is None:
                one = candidates[0]
                row["reason"] = f"expected to fail in another way ({one.match!r}): {one.reason}"
            continue
        known.append({**failure, "known": expectation.reason})
        upstream += [expectation.upstream] if expectation.upstream else []
        if failure["operator"] is not None:
            row["subresults"][failure["operator"]] = "xfailed"
    row["failure"], *row["further_failures"] = [*unexpected, *known]
    if unexpected:
        row["status"] = unexpected[0]["verdict"]
        return
    row["status"] = "xfailed"
    row["reason"] = "; ".join(dict.fromkeys(failure["known"] or "" for failure in known))
    row["upstream"] = next(iter(upstream), None)


# Characters allowed in a file name; no path separators.
_NAME = re.compile(r"[\w.+-]{1,100}")

NOTHING = Manifest("no file", {})
EXTENDS = "extends"


def read(path: Path | Traversable, known: Collection[str], device: str) -> Manifest:
    """The manifest in a TOML file, for one device.

    The rows of a file that it extends, and of those that this one extends, come after its own, and need not show.

    Raises:
        UsageProblem: what :func:`rows` raises, or the same id twice for the device.
    """
    document, placed = _placed(path, known)
    expected = _on_device(placed, device)
    below, seen = path, {str(path)}
    while (extended := document.get(EXTENDS)) is not None:
        above, below = below, _beside(below, extended)
        if str(below) in seen:
            raise UsageProblem(f"expectation file {path}: {above.name} extends {extended}, which extends it")
        seen.add(str(below))
        document, placed = _placed(below, known)
        for key, expectation in _on_device(placed, device).items():
            expected.setdefault(key, replace(expectation, sometimes=True))
    return Manifest(str(path), expected)


def _on_device(placed: Iterable[tuple[str, Expectation]], device: str) -> dict[tuple[str, str | None], Expectation]:
    expected: dict[tuple[str, str | None], Expectation] = {}
    for where, expectation in placed:
        if expectation.devices and device not in expectation.devices:
            continue
        key = expectation.requirement, expectation.operator
        if key in expected:
            raise UsageProblem(f"{where}: {expectation.name!r} is expected twice")
        expected[key] = expectation
    return expected


def _beside(path: Path | Traversable, name: object) -> Path | Traversable:
    """Return the file of a name in the folder of ``path``."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageProblem(f"expectation file {path}: '{EXTENDS}' must name a file beside it, not {shown(name)}")
    folder = path.parent if isinstance(path, Path) else resources.files(__package__)
    return folder / name


def rows(path: Path | Traversable, known: Collection[str]) -> list[Expectation]:
    """All expectations in a TOML file, for whatever devices, in the file's order.

    Raises:
        UsageProblem: names the file and the line: no TOML, an unknown field, a missing or mistyped one, an id that
            ``known`` does not have (any more), or ``see`` naming a row without a snippet.
    """
    return [expectation for _, expectation in _placed(path, known)[1]]


def shipped(name: str, version: str) -> Traversable | None:
    """The expectation file of this package for a backend's version: the longest matching ``NAME-VERSION.toml``."""
    if not _NAME.fullmatch(name) or not _NAME.fullmatch(version):
        return None
    parts = version.split("+")[0].split(".")
    folder = resources.files(__package__)
    for count in range(len(parts), 0, -1):
        candidate = folder / f"{name}-{'.'.join(parts[:count])}.toml"
        if candidate.is_file():
            return candidate
    return None


def nearest(name: str, version: str) -> str | None:
    """The name of the file of this package for the version of a backend that is nearest to one without a file."""
    versions = {
        entry.name: _numbers(entry.name.removeprefix(f"{name}-").removesuffix(".toml"))
        for entry in resources.files(__package__).iterdir()
        if re.fullmatch(rf"{re.escape(name)}-[\d.]+\.toml", entry.name)
    }
    mine = _numbers(version)
    return min(versions, default=None, key=lambda file: _distance(versions[file], mine))


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3]]


def _distance(one: list[int], other: list[int]) -> list[int]:
    return [abs(a - b) for a, b in zip([*one, 0, 0, 0][:3], [*other, 0, 0, 0][:3], strict=True)]


def _placed(
    path: Path | Traversable, known: Collection[str]
) -> tuple[dict[str, object], list[tuple[str, Expectation]]]:
    """Return the file's other fields, and its rows, each with its file and line for messages."""
    try:
        text = (read_bytes(path) if isinstance(path, Path) else path.read_bytes()).decode()
    except (OSError, UnicodeDecodeError) as error:
        detail = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageProblem(f"expectation file {path}: {detail}") from error
    except UsageProblem as problem:
        raise UsageProblem(f"expectation file {problem}") from problem
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"expectation file {path}: {visible(str(error), TEXT)}") from error
    except RecursionError:
        raise UsageProblem(f"expectation file {path}: nested too deeply") from None
    except ValueError as error:
        raise UsageProblem(f"expectation file {path}: not TOML: {visible(str(error), TEXT)}") from error
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[expected]]"]
    entries = document.pop("expected", [])
    for name in document:
        if name != EXTENDS:
            allowed = f"allowed: {EXTENDS}, [[expected]]"
            raise UsageProblem(f"expectation file {path}: unknown key {shown(name)}; {allowed}")
    if not isinstance(entries, list):
        raise UsageProblem(f"expectation file {path}: 'expected' must be tables headed [[expected]]")
    placed = []
    for index, entry in enumerate(entries):
        where = f"expectation file {path}:{lines[index]}" if index < len(lines) else f"expectation file {path}"
        expectation = parse(entry, where, known)
        placed += [(where, one) for one in (expectation, *expectation.others())]
    showing = {expectation.name: expectation for _, expectation in placed if expectation.snippet}
    return document, [(where, _seeing(expectation, showing, where)) for where, expectation in placed]


def _seeing(row: Expectation, showing: Mapping[str, Expectation], where: str) -> Expectation:
    """A row that points to others has the kind of the first of them, and its issue unless it names one itself."""
    for name in row.see:
        if name not in showing:
            problem = f"field 'see' names {shown(name)}, which has no row with a snippet in this file"
            raise UsageProblem(f"{where}: {problem}")
    if not row.see:
        return row
    first = showing[row.see[0]]
    return replace(row, kind=first.kind, upstream=row.upstream or first.upstream)
