"""A record as tables, for a terminal (``simple``) or Markdown (``github``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from ..summary import duration
from . import layers
from .statistics import geometric_mean

Row = dict[str, Any]
BUSY = 1.0
"""Load of a core above which times by the wall clock mean little."""
SLOW = (1.25, 2.0)
SLOWEST = 50
"""Of the suite of all operators, how many cases stand alone."""


def report(record: Row, form: str) -> str:
    """All tables of a record that have rows."""
    parts = [_head(record, form), _backends(record, form), _roof(record, form)]
    shown = [suite for suite in record["options"]["suites"] if suite not in ("growth", "memory")]
    own = {"operators": _distribution, "layers": _layers}
    parts += [own[suite](record, form) if suite in own else _cases(record, suite, form) for suite in shown]
    parts += [_growth(record, form), _memory(record, form), _left_out(record, form), _means(record, form)]
    parts += [_baseline(record["baseline"], form)] if record["baseline"] else []
    return "\n\n".join(part for part in parts if part)


def _section(title: str, form: str, headers: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    if not rows:
        return ""
    cells = [[_cell(value, form) for value in row] for row in rows]
    table = tabulate(cells, headers=[_cell(header, form) for header in headers], tablefmt=form, disable_numparse=True)
    head = f"## {title}" if form == "github" else f"{title}\n{'=' * len(title)}"
    return "\n\n".join(part for part in (head, table, note) if part)


def _cell(value: object, form: str) -> str:
    """Text without control characters, and in Markdown without what ends a cell or is HTML."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    if form != "github":
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")


def _head(record: Row, form: str) -> str:
    machine, options = record["machine"], record["options"]
    caches = ", ".join(f"L{c['level']} {c['kind']} {_bytes(c['bytes'])}" for c in machine["caches"]) or "not known"
    loads = [machine[name][0] if machine[name] else None for name in ("load_start", "load_end")]
    rows = [
        ("processor", machine["cpu"] + (" (virtual)" if machine["virtual"] else "")),
        ("cores", f"{machine['cores_allowed']} of {machine['cores']}, threads of an operator: {options['threads']}"),
        ("caches", caches),
        ("memory", f"{_bytes(machine['memory_bytes'])}, {_bytes(machine['memory_available_bytes'])} free"),
        ("governor", machine["governor"] or "not known"),
        ("load", f"{loads[0]} at the start, {loads[1]} at the end"),
        ("system", f"{machine['system']}, Python {machine['python']}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in machine["versions"].items())),
        ("clock", "what the process works" if options["clock"] == "cpu" else "the wall's"),
        ("run", f"{options['budget']}, {options['passes']} passes, {record['seconds']:.0f} s, {record['started']}"),
    ]
    busy = max((load / machine["cores"] for load in loads if load is not None), default=0.0)
    note = ""
    if busy > BUSY and options["clock"] == "wall":
        note = f"Busy: {busy:.1f} processes for each core, so times by the wall mean little; --clock cpu is steadier."
    return _section("Machine", form, ("", ""), rows, note)


def _backends(record: Row, form: str) -> str:
    rows = []
    for backend in record["backends"]:
        cost = backend["adapter"]
        added = cost["added_seconds"]
        how = "its functions" if cost["timed"] == "function" else "the adapter's call"
        rows.append((
            backend["label"], f"{backend['name']} {backend['version']}", backend["device"], backend["process"],
            "" if backend["threads"] is None else backend["threads"], how,
            "not known" if added is None else duration(added),
        ))  # fmt: skip
    headers = ("backend", "version", "device", "process", "threads", "timed", "call would add")
    return _section("Backends", form, headers, rows)


def _roof(record: Row, form: str) -> str:
    roof = record["roof"]
    rows = [(f"copy, {_bytes(row['moved_bytes'])} moved", _rate(row["bytes_per_second"], "B")) for row in roof["copy"]]
    rows += [
        (f"triad, {_bytes(row['moved_bytes'])} moved", _rate(row["bytes_per_second"], "B")) for row in roof["triad"]
    ]
    rows += [
        (f"product, {row['dtype']}, {_rate(row['operations'], '').strip()[:-2]} operations",
         _rate(row["operations_per_second"], "flop"))
        for row in roof["product"]
    ]  # fmt: skip
    for device in roof["device"]:
        where = f"{device['backend']} on {device['device']}"
        rows += [
            (f"{where}: copy, {_bytes(row['moved_bytes'])} moved", _rate(row["bytes_per_second"], "B"))
            for row in device["copy"]
        ]
        if device["launch_seconds"]:
            rows.append((f"{where}: launch of a kernel", duration(device["launch_seconds"])))
    return _section("Roof, measured in this run", form, ("", "rate"), rows)


def _cases(record: Row, suite: str, form: str) -> str:
    labels = [backend["label"] for backend in record["backends"]]
    against = record["options"]["against"]
    others = [label for label in labels if label != against]
    shares, laid_out = suite == "throughput", suite in ("throughput", "operators")
    rows = []
    for case in record["cases"]:
        if case["suite"] != suite:
            continue
        row: list[object] = [case["operator"], *([case["layout"]] if laid_out else []), f"{case['size']:,}"]
        for result in case["results"]:
            row.append(_time(result))
            if shares:
                row.append("" if not result.get("share") else f"{result['share']['share']:.0%}")
        ratios = {ratio["backend"]: ratio for ratio in case["ratios"]}
        row += [_ratio(ratios.get(label)) for label in others]
        rows.append(row)
    headers = ["operator", "layout", "size"] if laid_out else ["case", "size"]
    for label in labels:
        headers += [label, "of roof"] if shares else [label]
    headers += [f"{label} / {against}" for label in others]
    note = "Time of a call: median ± half the distance of the quartiles. Ratios of times, with 95 % intervals: below 1"
    note += " is faster." if others else ""
    if not others:
        note = note.partition(" Ratios")[0]
    if shares:
        note += " Of roof: what must be moved or computed, at the rate of a copy or product of that size."
    return _section(suite.capitalize(), form, headers, rows, note)


def _layers(record: Row, form: str) -> str:
    """The steps of the suite layers, and what each layer costs by their differences."""
    cases = [case for case in record["cases"] if case["suite"] == "layers"]
    labels = [backend["label"] for backend in record["backends"]]
    columns, headers = [], ["layer"]
    for place, label in enumerate(labels):
        results = {case["operator"]: case["results"][place] for case in cases}
        columns.append([_span(cost) for _, cost in layers.costs({k: r.get("median") for k, r in results.items()})])
        headers.append(label)
        if any("instructions" in result for result in results.values()):
            counts = layers.costs({k: r.get("instructions") for k, r in results.items()})
            columns.append(["" if count is None else f"{count:,.0f}" for _, count in counts])
            headers.append("instructions")
    rows = list(zip([layer for layer, _, _ in layers.LAYERS], *columns, strict=True))
    note = f"Of an addition of {layers.SIZE} elements: differences of the medians of steps that go one layer further."
    return "\n\n".join((_cases(record, "layers", form), _section("Costs by layer", form, headers, rows, note)))


def _span(seconds: float | None) -> str:
    """Return a difference of times, which noise can make negative."""
    return "" if seconds is None else f"-{duration(-seconds)}" if seconds < 0 else duration(seconds)


def _distribution(record: Row, form: str) -> str:
    """The ratios of the suite of all operators by size and layout, and the largest of them; times where it has none."""
    cases = [case for case in record["cases"] if case["suite"] == "operators"]
    ratios = [(ratio, case) for case in cases for ratio in case["ratios"]]
    if not ratios:
        return _cases(record, "operators", form)
    groups: dict[tuple[str, str, int], list[float]] = {}
    for ratio, case in ratios:
        for layout, size in ((case["layout"], case["size"]), ("all", 0)):
            groups.setdefault((ratio["backend"], layout, size), []).append(ratio["ratio"])
    rows = [
        (backend, layout, f"{size:,}" if size else "all", len(found), f"{math.exp(_mean_log(found)):.2f}",
         *(f"{sum(one > limit for one in found) / len(found):.0%}" for limit in SLOW))
        for (backend, layout, size), found in sorted(groups.items())
    ]  # fmt: skip
    against = record["options"]["against"]
    headers = ("backend", "layout", "size", "cases", f"mean / {against}", *(f"above {limit}" for limit in SLOW))
    ratios.sort(key=lambda one: -one[0]["ratio"])
    slowest = [
        (ratio["backend"], case["operator"], case["layout"], f"{case['size']:,}", _ratio(ratio), ratio.get("why", ""))
        for ratio, case in ratios[:SLOWEST]
    ]
    columns = ("backend", "operator", "layout", "size", f"/ {against}", "why")
    tables = (
        _section("Operators", form, headers, rows, "Mean: geometric mean of the ratios of times, below 1 is faster."),
        _section(f"Slowest {len(slowest)}", form, columns, slowest),
    )
    return "\n\n".join(tables)


def _mean_log(values: Sequence[float]) -> float:
    return math.fsum(map(math.log, values)) / len(values)


def _growth(record: Row, form: str) -> str:
    rows = []
    for row in record["growth"]:
        unit = "B" if row["unit"] == "bytes" else "flop"
        sizes = [point["size"] for point in row["points"]]
        rows.append((
            row["operator"], row["family"], row["backend"],
            "" if row["overhead_seconds"] is None else duration(row["overhead_seconds"]),
            "" if row["rate"] is None else _rate(row["rate"], unit),
            "" if row["memory_rate"] is None else _rate(row["memory_rate"], unit),
            "" if row["residual"] is None else f"{row['residual']:.0%}",
            f"{min(sizes):,} to {max(sizes):,}" if sizes else "not measured",
        ))  # fmt: skip
    headers = ("operator", "family", "backend", "overhead", "rate", "from memory", "misses by", "sizes")
    note = "Seconds = overhead + work / rate, fitted on the log scale; empty where the sizes do not show it. From "
    note += "memory: the rate of sizes beyond a core's own cache alone."
    return _section("Growth", form, headers, rows, note)


def _memory(record: Row, form: str) -> str:
    rows = []
    for case in record["memory"]:
        row: list[object] = [case["operator"], case["layout"], f"{case['size']:,}"]
        least = next((r["least_bytes"] for r in case["results"] if r["status"] == "measured"), None)
        row.append("" if least is None else _bytes(least))
        row += [_peak(result) for result in case["results"]]
        rows.append(row)
    headers = ["operator", "layout", "size", "least", *(backend["label"] for backend in record["backends"])]
    methods: dict[str, str] = {}
    for case in record["memory"]:
        for result in case["results"]:
            if result["status"] == "measured":
                methods[result["backend"]] = result["method"] or "nobody"
    note = "Least: what the result holds. Counted by: " + ", ".join(f"{k}: {v}" for k, v in methods.items()) + "."
    return _section("Memory at the peak of a call", form, headers, rows, note)


def _left_out(record: Row, form: str) -> str:
    """Cases without a figure, those of one reason together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for case in (*record["cases"], *record["memory"]):
        for result in case["results"]:
            if result["status"] != "measured":
                groups.setdefault((result["backend"], result["status"], result["reason"]), []).append(case["id"])
    rows = [
        (backend, status, f"{len(ids)}: {ids[0]}" + (", ..." if len(ids) > 1 else ""), reason)
        for (backend, status, reason), ids in groups.items()
    ]
    return _section("Not measured", form, ("backend", "status", "cases", "reason"), rows)


def _means(record: Row, form: str) -> str:
    rows = []
    for backend in record["backends"]:
        for suite in record["options"]["suites"]:
            ratios = [ratio for case in record["cases"] if case["suite"] == suite for ratio in case["ratios"]
                      if ratio["backend"] == backend["label"]]  # fmt: skip
            if ratios:
                rows.append((f"{backend['label']} / {record['options']['against']}", suite, len(ratios),
                             f"{geometric_mean(ratios):.2f}"))  # fmt: skip
    return _section("Geometric means of ratios", form, ("", "suite", "cases", "mean"), rows)


def _baseline(found: Row, form: str) -> str:
    changed = [row for row in found["verdicts"] if row["verdict"] != "unchanged"]
    rows = [
        (row["id"], row["backend"], row["verdict"], "" if row["ratio"] is None else _ratio(row),
         "" if row["p"] is None else f"{row['p']:.1g}")
        for row in sorted(changed, key=lambda row: (row["verdict"], -(row["ratio"] or 0)))
    ]  # fmt: skip
    count = ", ".join(f"{found[name]} {name}" for name in ("slower", "faster", "unchanged"))
    noise = ", ".join(f"{row['backend']} {row['kind']} {math.hypot(row['scatter'], row['common']):.1%}"
                      for row in found["noise"])  # fmt: skip
    machine = "" if found["machine"] is None else f" The controls take {found['machine']:.2f} times as long as then."
    note = f"{count}; beside {found['file']} of {found['started']}.{machine} Noise: {noise}. "
    note += f"Of runs of unchanged backends, at most {found['false_alarms']:.0%} call anything slower."
    table = _section("Beside the baseline", form, ("case", "backend", "verdict", "new / old", "p"), rows, note)
    return table or _section("Beside the baseline", form, ("",), [(count,)], note)


def _time(result: Row) -> str:
    if result["status"] != "measured":
        return str(result["status"])
    half = (result["high"] - result["low"]) / 2
    return f"{duration(result['median'])} ± {half / result['median']:.0%}"


def _ratio(row: Row | None) -> str:
    if row is None:
        return ""
    interval = "" if row["low"] is None else f" ({row['low']:.2f}-{row['high']:.2f})"
    return f"{row['ratio']:.2f}{interval}"


def _peak(result: Row) -> str:
    if result["status"] != "measured":
        return str(result["status"])
    if result["peak_bytes"] is None:
        return "not known"
    extra = result["peak_bytes"] - result["least_bytes"]
    return _bytes(result["peak_bytes"]) + (f" (+{_bytes(extra)})" if extra > 4096 else "")


def _bytes(count: int | None) -> str:
    if count is None:
        return "not known"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def _rate(per_second: float, unit: str) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= size:
            return f"{per_second / size:.3g} {prefix}{unit}/s"
    return f"{per_second:.3g} {unit}/s"
