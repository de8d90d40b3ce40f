"""`gaugeblock show strides`: the text letter by letter, the SVG's parts, and the command."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from gaugeblock_conformance.command import main
from gaugeblock_tools.stride_diagrams import stride_svg, stride_text
from gaugeblock_tools.stride_diagrams.expression import steps

SVG = "{http://www.w3.org/2000/svg}"


def text(expression: str, last: bool = True) -> str:
    return stride_text.render(steps(expression), last)


def test_text_of_a_chain_of_views() -> None:
    assert text("arange(6).view(2, 3).t()[::2]", last=False) == """\
step         sizes   strides  offset  contiguous  storage
arange(6)    (6,)    (1,)     0       yes         A, new: 6 cells of int64
.view(2, 3)  (2, 3)  (3, 1)   0       yes         A
.t()         (3, 2)  (1, 3)   0       no          A
[::2]        (2, 2)  (2, 3)   0       no          A

arange(6)
  sizes (6,), strides (1,), offset 0, int64
  reads 6 of 6 cells, no gaps
  walks forwards through the cells
  contiguous
  element [i] is cell i

  storage A: 6 cells of 8 bytes
  cell    0   1   2   3   4   5
        +---+---+---+---+---+---+
  index | 0 | 1 | 2 | 3 | 4 | 5 |
        +---+---+---+---+---+---+

.view(2, 3)
  sizes (2, 3), strides (3, 1), offset 0, int64
  reads 6 of 6 cells, no gaps
  walks forwards through the cells
  contiguous
  element [i, j] is cell 3*i + j

       j=0 j=1 j=2
  i=0    0   1   2
  i=1    3   4   5

  storage A: 6 cells of 8 bytes
  cell    0   1   2   3   4   5
        +---+---+---+---+---+---+
  index |0,0|0,1|0,2|1,0|1,1|1,2|
        +---+---+---+---+---+---+

.t()
  sizes (3, 2), strides (1, 3), offset 0, int64
  reads 6 of 6 cells, no gaps
  walks to and fro among the cells
  not contiguous: dim 1 has stride 3, row-major wants 1
  element [i, j] is cell i + 3*j

       j=0 j=1
  i=0    0   3
  i=1    1   4
  i=2    2   5

  storage A: 6 cells of 8 bytes
  cell    0   1   2   3   4   5
        +---+---+---+---+---+---+
  index |0,0|1,0|2,0|0,1|1,1|2,1|
        +---+---+---+---+---+---+
  order   1   3   5   2   4   6

[::2]
  sizes (2, 2), strides (2, 3), offset 0, int64
  reads 4 of 6 cells, 2 gaps
  walks to and fro among the cells
  not contiguous: dim 1 has stride 3, row-major wants 1
  element [i, j] is cell 2*i + 3*j

       j=0 j=1
  i=0    0   3
  i=1    2   5

  storage A: 6 cells of 8 bytes
  cell    0   1   2   3   4   5
        +---+---+---+---+---+---+
  index |0,0| . |1,0|0,1| . |1,1|
        +---+---+---+---+---+---+
  order   1       3   2       4
"""


def test_text_of_stride_zero() -> None:
    assert text("tensor([5., 7.5]).expand(6, 2)") == """\
.expand(6, 2)
  sizes (6, 2), strides (0, 1), offset 0, float32
  reads 2 of 2 cells, no gaps
  walks to and fro among the cells
  not contiguous: dim 0 has stride 0, row-major wants 2
  stride 0 in dim 0: its 6 indices read the same cells
  element [i, j] is cell j

       j=0 j=1
  i=0    0   1
  i=1    0   1
  i=2    0   1
  i=3    0   1
  i=4    0   1
  i=5    0   1

  storage A: 2 cells of 4 bytes
  cell    0   1
        +---+---+
  index |0,0|0,1|
        |1,0|1,1|
        |2,0|2,1|
        | +3| +3|
        +---+---+
  value   5  7.5
  order  1.. 2..
"""


def test_text_of_overlapping_windows() -> None:
    made = text("arange(5).unfold(0, 3, 1)")
    assert "overlaps itself: 3 cells are shared, cell 1 by [0, 1], [1, 0]\n" in made
    assert """\
  index |0,0|0,1|0,2|1,2|2,2|
        |   |1,0|1,1|2,1|   |
        |   |   |2,0|   |   |
""" in made


def test_text_without_dims_and_without_elements() -> None:
    assert text("arange(4)[2]") == """\
[2]
  sizes (), strides (), offset 2, int64
  reads 1 of 4 cells, 3 gaps
  no dims: one element, whose index is () and whose cell is the offset
  contiguous
  the element is cell 2

  storage A: 4 cells of 8 bytes
  cell    0   1   2   3
        +---+---+---+---+
  index | . | . | ()| . |
        +---+---+---+---+
"""
    assert text("zeros(2, 0)") == """\
zeros(2, 0)
  sizes (2, 0), strides (1, 1), offset 0, float32
  no elements: no cell is read, whatever the strides say
  contiguous

  storage A: 0 cells of 4 bytes
"""
    assert "reads 0" not in text("arange(4)[4:]") and "no elements" in text("arange(4)[4:]")


def test_text_of_three_dims() -> None:
    made = text("arange(24).view(2, 3, 4)[:, 1:, ::2]")
    assert "element [i, j, k] is cell 4 + 12*i + 4*j + 2*k\n" in made
    assert """\
  [1, :, :]  k=0 k=1
  j=0         16  18
  j=1         20  22
""" in made


def test_large_tensors_are_cut_with_a_word() -> None:
    made = text("arange(20000).view(100, 200)[50:, ::3]")
    assert "(80 of 3,350 elements shown)" in made
    assert "cells 9,999 to 10,034 are shown, 19,964 others not" in made
    assert "..." in made and max(map(len, made.splitlines())) < 80 and len(made) < 4000
    many = text("zeros(5, 2, 2)")
    assert "[3, :, :]" in many and "[4, :, :]" not in many and "(16 of 20 elements shown)" in many


def test_another_storage_and_another_dtype() -> None:
    made = text("arange(4).view(2, 2).t().contiguous().view(int32)", last=False)
    assert ".contiguous()  (2, 2)  (2, 1)   0       yes         B, new: 4 cells of int64" in made
    assert ".view(int32)   (2, 4)  (4, 1)   0       yes         B\n" in made
    assert "storage B: 8 cells of 4 bytes" in made


def test_channels_last_is_named() -> None:
    assert "contiguous as channels_last" in text("zeros(1, 2, 2, 2).contiguous(memory_format=channels_last)")


@pytest.mark.parametrize(
    "expression",
    [
        "arange(12).view(3, 4).t()[::2]", "tensor(5)", "zeros(0)", "zeros(2, 0, 3)", "tensor([1.5]).expand(100)",
        "zeros(2, 2, 2, 2, 2, 2, 2)", "arange(60000).view(200, 300).t()[7:, 5:]", "tensor([1 + 2j, 3]).real",
        "arange(30).view(2, 15).t()", "arange(3).view(uint8)[1:9]", "tensor([True, False]).T.expand(3, 2)",
    ],
)  # fmt: skip
def test_every_picture_is_drawn(expression: str) -> None:
    found = steps(expression)
    drawn = stride_svg.render(expression, found)
    root = ET.fromstring(drawn)
    assert root.get("role") == "img" and root.find(f"{SVG}title") is not None
    assert (root.find(f"{SVG}title").text, root.get("aria-label")) == (expression, expression)  # type: ignore[union-attr]
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for box in root.iter(f"{SVG}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert x >= 0 and x + float(box.get("width", 0)) <= width
        assert y >= 0 and y + float(box.get("height", 0)) <= height
    assert stride_text.render(found)


def test_svg_has_a_cell_for_every_cell_and_an_arrow_for_every_step() -> None:
    expression = "arange(6).view(2, 3).t()"
    root = ET.fromstring(stride_svg.render(expression, steps(expression), last=True))
    boxes = [str(box.get("class")) for box in root.iter(f"{SVG}rect")]
    assert boxes.count("cell r0") == boxes.count("cell r1") == boxes.count("cell r2") == 2 * 2
    assert len([path for path in root.iter(f"{SVG}path") if "tip" in str(path.get("class"))]) == 5
    shared = ET.fromstring(stride_svg.render("x", steps("arange(3).expand(2, 3)"), last=True))
    assert sum("shared" in str(box.get("class")) for box in shared.iter(f"{SVG}rect")) == 3
    gaps = ET.fromstring(stride_svg.render("x", steps("arange(7)[::3]"), last=True))
    assert sum("gap" in str(box.get("class")) for box in gaps.iter(f"{SVG}rect")) == 4


def test_hostile_text_is_text() -> None:
    drawn = stride_svg.render("</title><script>alert(1)</script>\x07&", steps("arange(2)"))
    root = ET.fromstring(drawn)
    assert "<script" not in drawn
    assert root.find(f"{SVG}title").text == "</title><script>alert(1)</script>�&"  # type: ignore[union-attr]


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["show", "strides", "arange(3)[1:]"]) == 0
    assert capsys.readouterr().out.startswith("step ")
    made = tmp_path / "x.svg"
    assert main(["show", "strides", "arange(3)[1:]", "--last", "--format", "svg", "--out", str(made)]) == 0
    assert made.read_text().count('class="head"') == 1
    assert main(["show", "strides", "open('x')"]) == 2
    assert capsys.readouterr().err.startswith("gaugeblock: function 'open' is not one that can be used here")
    assert main(["show", "strides", "arange(3)", "--out", str(tmp_path / "no" / "x")]) == 2
