"""The three lines of the README: an adapter for a module with torch's names claims no more than it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.trace import Name
from gaugeblock_spec import operators

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


def test_snippets_call_in_place_operators_where_torch_has_them() -> None:
    torch = pytest.importorskip("torch")
    backend = discovery.load(discovery.resolve("torch:cpu"))
    calls = {}
    for name in filter(None, (row.inplace_name for row in operators.load().values())):
        try:
            backend._resolve(name)
        except Unsupported:
            continue
        calls[name] = backend.dialect.expression(name, (Name("x"),), {}).partition("(")[0]
    assert len(calls) > 150
    assert calls["add_.Tensor"] == "x.add_"
    assert calls["elu_"] == "torch.nn.functional.elu_"
    assert calls["hardsigmoid_"] == "torch.ops.aten.hardsigmoid_"
    assert [text for text in calls.values() if not callable(eval(text, {"torch": torch, "x": torch.zeros(1)}))] == []
