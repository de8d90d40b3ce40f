"""Drawings of failing examples."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from gaugeblock_conformance import discovery
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.mutants.mutant import MutantBackend
from gaugeblock_conformance.mutants.table import named
from gaugeblock_conformance.pictures import pictures
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_conformance.trace import Call, Create, Name


def call(operator: str, *args: Any, to: str = "", refused: bool = False) -> Call:
    return Call((to,) if to else (), operator, args, {}, frozenset(), refused=refused)


def words(svg: str) -> list[str]:
    return [part.text or "" for part in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_life_of_blocks() -> None:
    pool, first = Name("r1"), Name("r2")
    steps = [
        call("allocator", to="r1"),
        call("malloc", pool, 512, to="r2"),
        call("record_stream", pool, first, Name("r9")),
        call("memory_stats", pool, to="r3"),
        call("free", pool, first),
        call("malloc", pool, 1 << 20, Name("<s>"), to="r4"),
        call("malloc", pool, 7, refused=True),
    ]
    (picture,) = pictures(steps, "allocator", "test_it")
    assert picture["title"] == "Blocks over the steps of test_it"
    found = words(picture["svg"])
    for text in ("r2", "512", "r4", "1,048,576", "refused", "✕", "r9", "<s>", "default stream", "free"):
        assert text in found, text
    assert "memory stats" not in found
    bars = [part for part in ET.fromstring(picture["svg"]).iter() if part.get("rx") == "2"]
    assert len(bars) == 2


def test_how_values_came_about() -> None:
    steps = [
        Create("x1", np.ones((2, 3))),
        Create("x2", np.ones(3)),
        call("mul.Tensor", Name("x1"), Name("x2"), to="y3"),
        call("sum", Name("y3"), to="y4"),
        call("backward", Name("y4"), refused=True),
    ]
    (picture,) = pictures(steps, "autograd", "test_it")
    found = words(picture["svg"])
    for text in ("x1", "sizes (2, 3)", "sizes (3,)", "mul.Tensor", "backward", "raised"):
        assert text in found, text
    assert pictures(steps, "views", "test_it") == []


def test_too_much_is_not_drawn() -> None:
    steps = [call("malloc", Name("r1"), 512, to=f"r{number}") for number in range(2, 99)]
    assert pictures(steps, "allocator", "test_it") == []
    assert pictures([call("sin", Name("x1"), to=f"y{number}") for number in range(99)], "autograd", "t") == []
    assert pictures([], "autograd", "test_it") == []


def test_a_broken_requirement_brings_its_picture() -> None:
    right = discovery.load(discovery.resolve("reference"))
    wrong = MutantBackend(right, named("recorded-streams-are-forgotten"))
    row = run_requirement(wrong, "allocator/recorded-stream-delays-reuse", QUICK, 0)
    assert row["status"] == "failed"
    assert "record stream" in words(row["pictures"][0]["svg"])
    kept = run_requirement(right, "allocator/recorded-stream-delays-reuse", QUICK, 0)
    assert "pictures" not in kept
