"""The three lines of the README: an adapter for a module with torch's names claims no more than it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from gaugeblock_conformance import discovery

SOURCE = """
import torch as mylib
from gaugeblock_conformance.backends.torch_style import TorchStyleBackend

class MylibBackend(TorchStyleBackend):
    def __init__(self, device: str = "cpu") -> None:
        super().__init__(mylib, device)
"""


def test_three_lines_make_a_backend(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "mylib_backend.py"
    path.write_text(SOURCE)
    backend = discovery.load(discovery.resolve(f"{path}:MylibBackend"))
    assert {"core", "views", "version"} <= backend.capabilities
    assert not hasattr(backend, "adapter_dialect")
