"""The pictures in the spec's chapters are what `gaugeblock show strides` draws; their captions are the commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import gaugeblock_spec
import pytest
from gaugeblock_conformance.command import main

CHAPTERS = Path(gaugeblock_spec.__file__).parent
PICTURE = re.compile(r"^!\[gaugeblock (show strides .*)\]\((pictures/[a-z-]+\.svg)\)$", re.MULTILINE)
PICTURES = {file: command for path in CHAPTERS.glob("*.md") for command, file in PICTURE.findall(path.read_text())}


@pytest.mark.parametrize("file", sorted(PICTURES))
def test_picture_is_what_its_command_draws(file: str, tmp_path: Path) -> None:
    made = tmp_path / "made.svg"
    assert main([*shlex.split(PICTURES[file]), "--format", "svg", "--out", str(made)]) == 0
    command = f"gaugeblock {PICTURES[file]} --format svg --out spec/gaugeblock_spec/{file}"
    assert made.read_text() == (CHAPTERS / file).read_text(), f"draw it again: {command}"


def test_every_picture_is_shown() -> None:
    assert {path.name for path in (CHAPTERS / "pictures").iterdir()} == {Path(file).name for file in PICTURES}
