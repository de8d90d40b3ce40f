"""The ways of four calls as reference/README.md draws them: their stops, in order, and how many files they pass."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from .cached import CACHED

ROOT = Path(__file__).parents[1]
MOST_STOPS = 10
BEGIN = {
    "a + b": "a, b = gb.ones(3, 4), gb.ones(3, 4)",
    "x.t()[::2]": "x = gb.ones(3, 4)",
    "(x * w).sum().backward()": "x, w = gb.ones(3, 4, requires_grad=True), gb.ones(3, 4)",
    "gb.empty(3, device='cuda')": "import gaugeblock.cuda",
}
WATCH = """
import json, os, sys
import gaugeblock as gb
{begin}
root = os.path.dirname(gb.__file__) + os.sep

def files(call):
    passed = dict()
    def watch(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root):
            passed.setdefault(name[len(root):].replace(os.sep, "/"))
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(passed)

print(json.dumps([files(lambda: {call}), files(lambda: {call})]))
"""


class Drawn(NamedTuple):
    """A call as the README draws it: files passed at first and then, and the files of its stops."""

    first: int
    again: int
    stops: tuple[str, ...]


@cache
def drawn() -> dict[str, Drawn]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pattern = r"### `([^`]+)`\n\n(\d+) files at first, (\d+) (?:file|files) the next time.*?```mermaid\n(.*?)```"
    found = re.findall(pattern, text, re.DOTALL)
    return {
        call: Drawn(int(first), int(again), tuple(re.findall(r'\["([\w/]+\.py)<br>', picture)))
        for call, first, again, picture in found
    }


def passed(call: str) -> tuple[list[str], list[str]]:
    """The files that a call passes in a new process, at first and the next time, those of the package alone."""
    environment = {**os.environ, "GAUGEBLOCK_CUDA_DRIVER": "simulated"}
    command = [sys.executable, "-c", WATCH.format(begin=BEGIN[call], call=call)]
    for _ in range(2):  # The first process compiles the kernels.
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    first, again = json.loads(done.stdout)
    return first, again


def test_the_readme_draws_each_call() -> None:
    assert drawn().keys() == BEGIN.keys()


@CACHED
@pytest.mark.parametrize("call", BEGIN)
def test_calls_go_the_way_that_is_drawn(call: str) -> None:
    first, again = passed(call)
    way = drawn()[call]
    assert 3 <= len(way.stops) <= MOST_STOPS
    assert [file for file in first if file in way.stops] == list(way.stops)
    assert len(first) <= way.first
    assert len(again) <= way.again
