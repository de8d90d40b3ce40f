"""The report as JUnit XML: one suite per area, one case per requirement and per operator that did not simply hold."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from . import summary
from .record import Record, Row, printable


def render(records: Sequence[Record], colour: bool = False) -> str:
    """The document of all ``records`` (``colour`` has no meaning here)."""
    root = ET.Element("testsuites")
    for record in map(printable, records):
        areas = dict.fromkeys(row["area"] for row in record["requirements"])
        for area in areas:
            _suite(root, record, area)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, record: Record, area: str) -> None:
    environment = record["environment"]
    rows = [case for row in record["requirements"] if row["area"] == area for case in _cases(row)]
    suite = ET.SubElement(root, "testsuite", name=f"gaugeblock.{environment['backend']}.{area}")
    counts = {
        "tests": len(rows),
        "failures": sum(row["status"] in ("failed", "xpassed") for row in rows),
        "errors": sum(row["status"] in ("crashed", "timeout") for row in rows),
        "skipped": sum(row["status"] in ("skipped", "xfailed") for row in rows),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{sum(row['seconds'] for row in rows):.3f}")
    suite.set("timestamp", environment["started"])
    properties = ET.SubElement(suite, "properties")
    for name in ("name", "version", "device", "budget", "seed", "spec_version", "suite_version", "platform", "python"):
        ET.SubElement(properties, "property", name=name, value=str(environment[name]))
    for rule in summary.own_rules(record):
        told = f"{rule.rule} ({rule.used}): {rule.told}"
        ET.SubElement(properties, "property", name="asked by its own rules", value=told)
    for row in rows:
        _case(suite, environment["backend"], row)


def _cases(row: Row) -> list[Row]:
    """The requirement, or if it is judged operator by operator and broke for some, these as rows of their own."""
    failures = {failure["operator"]: failure for failure in summary.failures_of(row)}
    parts = [
        {**row, "id": f"{row['id']}[{name}]", "status": status, "seconds": 0.0, "failure": failures.get(name)}
        for name, status in row["subresults"].items()
        if status not in ("passed", "skipped")
    ]
    for part in parts:
        if part["status"] == "xfailed" and part["failure"] is not None:
            part["reason"] = part["failure"]["known"]
    whole = failures.get(None)
    if parts and whole is None:
        held = sum(status in summary.HELD for status in row["subresults"].values())
        return [{**row, "status": "passed" if held else "skipped", "failure": None}, *parts]
    return [row, *parts]


def _case(suite: ET.Element, backend: str, row: Row) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"gaugeblock.{backend}.{row['area']}",
        name=row["id"],
        time=f"{row['seconds']:.3f}",
    )
    status, failure = row["status"], row["failure"]
    if status in summary.BROKEN and failure is not None:
        tag = "failure" if status == "failed" else "error"
        element = ET.SubElement(case, tag, type=f"{row['level']} {status}", message=failure["message"])
        element.text = _details(row, failure)
    elif status == "xpassed":
        ET.SubElement(case, "failure", type="xpassed", message=f"unexpectedly held; {row['reason']}")
    elif status in ("skipped", "xfailed"):
        word = "expected failure: " if status == "xfailed" else ""
        ET.SubElement(case, "skipped", message=f"{word}{row['reason']}")
    elif row.get("own_rules"):
        ET.SubElement(case, "system-out").text = row["reason"]


def _details(row: Row, failure: summary.Failure) -> str:
    lines = [row["sentence"], "", failure["message"]]
    lines += [f"{name}: {failure[name]}" for name in ("expected", "got") if failure[name] is not None]
    lines += [f"{name} = {value}" for name, value in failure["example"].items()]
    if failure["snippet"]:
        lines += ["", failure["snippet"].rstrip()]
    lines += ["", f"cause: {failure['cause']}"]
    if failure["output"]:
        lines += ["printed:", failure["output"]]
    return "\n".join(lines)
