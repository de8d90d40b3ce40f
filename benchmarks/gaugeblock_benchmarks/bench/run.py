"""A run: every task on every backend in turn, in passes, and the record of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..machine import description
from ..machine.controls import Control, Yardstick, controls, roof
from ..machine.roof import end_threads
from ..operands import CACHED_BYTES
from . import expected, growth, instructions, slower, statistics
from .blas import set_blas_threads
from .device import device_roof
from .rounds import SETTLING, take_turns
from .seat import CLOCKS, Outcome, Seat
from .suites import BUDGETS, DEFAULT, SUITES, AnyTask
from .work_share import share

SCHEMA = "gaugeblock-bench/1"
Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What is run; empty tuples stand for all."""

    suites: tuple[str, ...] = DEFAULT
    operators: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    threads: int = 1
    budget: str = "standard"
    clock: str = "wall"
    against: int = 0
    instructions: bool = False


@dataclass
class Taken:
    """What one backend gave for one task: samples by pass, or why there are none."""

    outcome: Outcome = field(default_factory=lambda: Outcome("measured"))
    blocks: list[list[float]] = field(default_factory=list)

    def refuse(self, outcome: Outcome) -> None:
        """Keep the first reason."""
        if self.outcome.status == "measured":
            self.outcome = outcome


def tasks_of(options: Options) -> list[AnyTask]:
    """The tasks of a run, suite by suite."""
    budget = BUDGETS[options.budget]
    return [task for name in options.suites for task in SUITES[name](budget, options.operators, options.sizes)]


def run(seats: Sequence[Seat], options: Options, progress: Callable[[str], None] = lambda text: None) -> Row:
    """Measure and return the record."""
    started, clock = datetime.now(UTC), time.perf_counter()
    machine = description.describe()
    set_blas_threads(options.threads)
    progress("adapters")
    backends = [{**seat.describe(), "adapter": seat.adapter()} for seat in seats]
    tasks = tasks_of(options)
    timed = [task for task in tasks if task.suite != "memory"]
    budget = BUDGETS[options.budget]
    held = controls(options.threads, budget.control_bytes)
    yardstick = Yardstick(CLOCKS[options.clock])
    of_controls: list[list[list[float]]] = [[] for _ in held]
    beside_controls: list[list[list[float]]] = [[] for _ in held]
    taken: list[list[Taken]] = [[Taken() for _ in seats] for _ in timed]
    beside: list[list[list[float]]] = [[] for _ in timed]
    room = description.memory("MemAvailable")
    for number in range(budget.passes):
        for control, blocks, others in zip(held, of_controls, beside_controls, strict=True):
            progress(f"pass {number + 1} of {budget.passes}: {control.name}")
            own, other = control.pass_over(CLOCKS[options.clock], yardstick)
            blocks.append(own)
            others.append(other)
        end_threads(options.threads)
        for task, row, others in zip(timed, taken, beside, strict=True):
            progress(f"pass {number + 1} of {budget.passes}: {task.id}")
            others.append(_one(task, seats, row, budget.seconds, room, yardstick, options.threads))
    memory = [_memory(task, seats, room, progress) for task in tasks if task.suite == "memory"]
    found_roof = {**_roof(held, of_controls), "device": [row for row in map(device_roof, seats) if row]}
    cases = [
        {**_case(task, backends, row, options.against, found_roof), "yardstick": others}
        for task, row, others in zip(timed, taken, beside, strict=True)
    ]
    if options.instructions:
        _count_instructions(cases, progress)
    machine["load_end"] = description.load()
    return {
        "schema": SCHEMA,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
        "options": {
            "suites": list(options.suites), "operators": list(options.operators), "sizes": list(options.sizes),
            "threads": options.threads, "budget": options.budget, "passes": budget.passes, "clock": options.clock,
            "against": backends[options.against]["label"],
        },
        "machine": machine,
        "backends": backends,
        "roof": found_roof,
        "controls": [{"name": control.name, "kind": control.kind, "moved_bytes": control.moved_bytes,
                      "blocks": blocks, "yardstick": others}
                     for control, blocks, others in zip(held, of_controls, beside_controls, strict=True)],
        "cases": cases,
        "growth": _growth(cases, backends),
        "memory": memory,
        "baseline": None,
    }  # fmt: skip


def _one(
    task: AnyTask, seats: Sequence[Seat], row: Sequence[Taken], seconds: float, room: int | None, yardstick: Yardstick,
    threads: int,
) -> list[float]:  # fmt: skip
    """One pass over one task; the samples of the yardstick."""
    living = [which for which, one in enumerate(row) if one.outcome.status == "measured"]
    needed = task.needed_bytes * len(living)
    if room is not None and needed > room // 2:
        for which in living:
            row[which].refuse(Outcome("skipped", f"would need {needed >> 20} MiB, half of the free memory is less"))
        return []
    first = not any(one.blocks for one in row)
    given: dict[int, Outcome] = {}
    for which in living:
        outcome = seats[which].prepare(task)
        if outcome.status == "measured":
            given[which] = outcome
        else:
            row[which].refuse(outcome)
    if first:
        for which, wrong in _wrong(task, given).items():
            row[which].refuse(wrong)
            seats[which].release()
            del given[which]
    settling = SETTLING if threads > 1 and len(given) > 1 else 0.0
    turns = [seats[which] for which in given]
    measured, beside = take_turns(turns, seconds, yardstick, task.row["moved_bytes"], settling)
    for which, samples in zip(given, measured, strict=True):
        if isinstance(samples, Outcome):
            row[which].refuse(samples)
        else:
            row[which].blocks.append(samples)
        seats[which].release()
    return beside


def _wrong(task: AnyTask, given: dict[int, Outcome]) -> dict[int, Outcome]:
    """Results that differ from the oracle's, or where there is none from the first backend's."""
    values = {which: (one.shape, one.sample) for which, one in given.items() if one.sample is not None}
    right = expected.expected(task)
    whose = "by NumPy in float64"
    if right is None and values:
        first = next(iter(values))
        shape, sample = values[first]
        assert sample is not None
        right, whose = (shape, sample), "by the first backend"
    found = {}
    for which, (shape, sample) in values.items():
        assert right is not None and sample is not None
        text = expected.difference(task.row["dtype"], (shape, sample), right)
        if text:
            found[which] = Outcome("wrong", f"{text} {whose}")
    return found


def _roof(held: Sequence[Control], blocks: Sequence[Sequence[Sequence[float]]]) -> dict[str, list[Row]]:
    return roof([(control, statistics.summary(one)["median"]) for control, one in zip(held, blocks, strict=True)])


def _case(task: AnyTask, backends: Sequence[Row], row: Sequence[Taken], against: int, found: Row) -> Row:
    results = []
    for backend, one in zip(backends, row, strict=True):
        result: Row = {"backend": backend["label"], "status": one.outcome.status, "reason": one.outcome.reason}
        if one.outcome.status == "measured":
            result |= {**statistics.summary(one.blocks), "blocks": one.blocks}
            result["share"] = share(task.row, result["median"], backend, found)
        results.append(result)
    ratios = []
    base = row[against]
    for which, (backend, one) in enumerate(zip(backends, row, strict=True)):
        if which != against and one.outcome.status == base.outcome.status == "measured":
            label = backends[against]["label"]
            ratio = {"backend": backend["label"], "against": label, **statistics.ratio(one.blocks, base.blocks)}
            ratios.append(ratio | slower.reason(task.row, backend["name"], backends[against]["name"], ratio["ratio"]))
    return {**task.row, "results": results, "ratios": ratios}


def _count_instructions(cases: Sequence[Row], progress: Callable[[str], None]) -> None:
    """Add the instructions of the steps of the suite layers to the results of each backend."""
    steps = [case for case in cases if case["suite"] == "layers"]
    for label in [result["backend"] for result in steps[0]["results"]] if steps else ():
        progress(f"instructions of {label}")
        found = instructions.count(label.partition("#")[0])
        for case in steps:
            for result in case["results"]:
                if result["backend"] == label and case["operator"] in found:
                    result["instructions"] = found[case["operator"]]


def _growth(cases: Sequence[Row], backends: Sequence[Row]) -> list[Row]:
    rows = []
    names = dict.fromkeys(case["operator"] for case in cases if case["suite"] == "growth")
    for name in names:
        of_one = [case for case in cases if case["suite"] == "growth" and case["operator"] == name]
        unit = "operations" if of_one[0]["operations"] else "bytes"
        for place, backend in enumerate(backends):
            points = [
                {"size": case["size"], "work": case["operations"] or case["moved_bytes"], "seconds": result["median"]}
                for case in of_one
                if (result := case["results"][place])["status"] == "measured"
            ]
            work, seconds = [point["work"] for point in points], [point["seconds"] for point in points]
            fitted = growth.fit(work, seconds)
            overhead = fitted.overhead if fitted and fitted.overhead else 0.0
            beyond = growth.rate_beyond(work, seconds, overhead, CACHED_BYTES) if unit == "bytes" else None
            rows.append({
                "operator": name, "family": of_one[0]["family"], "backend": backend["label"], "unit": unit,
                "overhead_seconds": fitted and fitted.overhead, "rate": fitted and fitted.rate,
                "memory_rate": beyond, "residual": fitted and fitted.residual, "points": points,
            })  # fmt: skip
    return rows


def _memory(task: AnyTask, seats: Sequence[Seat], room: int | None, progress: Callable[[str], None]) -> Row:
    progress(task.id)
    results = []
    for seat in seats:
        if room is not None and task.needed_bytes > room // 2:
            found: Row = {"status": "skipped", "reason": f"would need {task.needed_bytes >> 20} MiB"}
        else:
            found = seat.peak(task)
        results.append({"backend": seat.label, **found})
    return {**task.row, "results": results}
