"""The pictures in the spec and in the README are what `gaugeblock show strides` draws; captions are the commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import gaugeblock_spec
import pytest
from gaugeblock_conformance.command import main

CHAPTERS = Path(gaugeblock_spec.__file__).parent
PAGES = [*CHAPTERS.glob("*.md"), Path(__file__).parents[2] / "README.md"]
PICTURE = re.compile(r"^!\[gaugeblock (show strides .*)\]\(([a-z/-]+\.svg)\)$", re.MULTILINE)
PICTURES = {path.parent / file: command for path in PAGES for command, file in PICTURE.findall(path.read_text())}


@pytest.mark.parametrize("file", sorted(PICTURES), ids=lambda file: file.stem)
def test_picture_is_what_its_command_draws(file: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.svg"
    assert main([*shlex.split(PICTURES[file]), "--format", "svg", "--out", str(made)]) == 0
    command = f"gaugeblock {PICTURES[file]} --format svg --out {file}"
    assert made.read_text() == file.read_text(), f"draw it again: {command}"


def test_every_picture_is_shown() -> None:
    assert set((CHAPTERS / "pictures").iterdir()) <= set(PICTURES) and len(PICTURES) == 5
