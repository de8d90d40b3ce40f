"""The model of the chapter's rules says what upstream's tests and the chapter's numbers say."""

from __future__ import annotations

import pytest
from gaugeblock_conformance.allocator.figures import Figures
from gaugeblock_conformance.allocator.model import Model
from gaugeblock_conformance.allocator.rules import MIB, Rules
from gaugeblock_conformance.allocator.state import OutOfMemory
from gaugeblock_conformance.allocator.test_figures import told
from gaugeblock_conformance.mutants.naive_allocator import NaiveDevice, rules_of

LIST = ((128, 8), (256, 16), (512, 1), (2048, 8), (">", 2))


@pytest.mark.parametrize(
    ("size", "divisions"), [(64 * MIB, 8), (128 * MIB, 8), (300 * MIB, 16), (512 * MIB, 1), (1024 * MIB, 0),
                            (2048 * MIB, 8), (4096 * MIB, 2)],
)  # fmt: skip
def test_divisions_of_upstreams_list(size: int, divisions: int) -> None:
    assert Rules(divisions=LIST).divisions_for(size) == divisions


@pytest.mark.parametrize(
    ("size", "rounded", "segment"),
    [(1, 512, 2 * MIB), (4_000_000, 4_000_256, 20 * MIB), (MIB, MIB, 2 * MIB), (MIB + 1, MIB + 512, 20 * MIB),
     (10 * MIB - 512, 10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB, 10 * MIB), (11 * MIB, 11 * MIB, 12 * MIB)],
)  # fmt: skip
def test_sizes(size: int, rounded: int, segment: int) -> None:
    rules = Rules()
    assert (rules.rounded(size), rules.segment_size(rules.rounded(size))) == (rounded, segment)


def test_configuration_and_back() -> None:
    rules = Rules(40 * MIB, 30 * MIB, LIST, 0.5, 32 * MIB)
    assert rules_of(rules.config) == rules
    assert rules_of(Rules(divisions=4).config) == Rules(divisions=4) and rules_of(" ") == Rules()


def test_a_day_in_the_life() -> None:
    device = NaiveDevice(64 * MIB)
    model = Model(device)
    a, b = model.malloc(1000), model.malloc(3 * MIB)
    model.record_stream(a, 1)
    model.occupy(1)
    model.free(a)
    assert model.figures.current["active.all"] == 2 and model.figures.current["allocation.all"] == 1
    assert model.malloc(1000) != a
    with pytest.raises(OutOfMemory):
        model.malloc(70 * MIB)
    assert [seg["blocks"][0]["state"] for seg in model.snapshot()] == ["inactive", "active_allocated"]
    model.free(b)
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        model.free(b)
    model.empty_cache()
    assert device.used == 2 * MIB and device.log[-1] == ("free",)


def test_figures_follow_the_current_ones() -> None:
    figures = Figures()
    for value in (3, 5, 1):
        figures.see({"active.all": value})
    named = figures.by_name()
    assert [named[f"active.all.{k}"] for k in ("current", "peak", "allocated", "freed")] == [1, 5, 5, 4]
    figures.loose = True
    assert "inactive_split.all.peak" not in figures.by_name()


def test_sizes_in_words() -> None:
    assert told("20.00 MiB of 64 GiB", 20 * MIB) and told("held: 20971520", 20 * MIB) and told("1,536 B", 1536)
    assert told("| 20480 KiB |", 20 * MIB) and not told("21.00 MiB", 20 * MIB) and not told("none", 0)
