"""Requirements are handed out so that workers keep apart, and all of them are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from gaugeblock_conformance.runner.schedule import Schedule
from gaugeblock_spec import requirements as spec

KNOWN = next(iter(spec.load().values()))
NAMES = ("a/1", "b/1", "a/2", "b/2", "a/3", "c/1")
REQUIREMENTS = {name: replace(KNOWN, id=name, area=name[0]) for name in NAMES}


def taken(workers: str, families: Mapping[str, str] | None = None) -> list[str]:
    """What these workers get, one after the other."""
    schedule = Schedule(REQUIREMENTS, NAMES)
    return [schedule.next(worker, families or {}) for worker in workers]


@pytest.mark.parametrize(
    ("workers", "wanted"),
    [
        ("xxxxxx", [*NAMES]),
        ("xyxyxy", ["a/1", "b/1", "a/2", "b/2", "a/3", "c/1"]),
        ("xyyyyx", ["a/1", "b/1", "b/2", "c/1", "a/2", "a/3"]),
        ("xyzzzz", ["a/1", "b/1", "c/1", "a/2", "b/2", "a/3"]),
    ],
)
def test_a_worker_stays_in_areas_of_its_own_as_long_as_it_can(workers: str, wanted: list[str]) -> None:
    assert taken(workers) == wanted


def test_a_family_goes_before_an_area() -> None:
    families = {"a/1": "a/1", "b/2": "a/1"}
    assert taken("xyyyyx", families) == ["a/1", "b/1", "c/1", "a/2", "a/3", "b/2"]
    assert taken("xyyyyy", families)[-1] == "b/2"


def test_what_a_lost_worker_had_begun_is_free() -> None:
    schedule = Schedule(REQUIREMENTS, NAMES)
    first, other, new = "first", "other", "new"
    assert [schedule.next(worker, {}) for worker in (first, other)] == ["a/1", "b/1"]
    schedule.forget(first)
    assert [schedule.next(worker, {}) for worker in (new, other, new)] == ["a/2", "b/2", "a/3"]
    assert len(schedule) == 1
