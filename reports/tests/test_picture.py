"""The picture of a report: the text is in it, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from gaugeblock_reports.picture import picture


def test_picture_is_self_contained() -> None:
    svg = picture("plain \033[31mred\033[0m <&>", "gaugeblock validate x")
    root = ElementTree.fromstring(svg)
    text = "".join(root.itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert "plain" in text
    assert "red" in text
    assert "<&>" in text
    assert "gaugeblock validate x" in text
    assert not re.findall(r"url\(.?https?:|href=.https?:", svg)
