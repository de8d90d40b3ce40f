"""PyTorch by other ways into it: compiled, under a mode, by its references."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.session import ConformanceError, Session

torch = pytest.importorskip("torch")
wrapped = pytest.importorskip("gaugeblock_conformance.backends.torch_wrapped")


def test_a_mode_sees_operators_and_hands_them_on() -> None:
    backend = wrapped.UnderMode()
    seen = []
    handing_on = backend._mode.__torch_dispatch__

    def watched(self: object, function: object, *rest: object) -> object:
        seen.append(str(function))
        return handing_on(self, function, *rest)

    backend._mode.__torch_dispatch__ = watched
    x = backend.from_numpy(np.float32([1, -2]))
    assert backend.call("abs", x).tolist() == [1, 2]
    assert backend.call("add_.Tensor", x, x).tolist() == [2, -4]
    assert seen == ["aten.abs.default", "aten.add_.Tensor"]


def test_snippets_show_the_mode() -> None:
    s = Session(wrapped.UnderMode())
    x = s.tensor([1.0, -2.0])
    with pytest.raises(ConformanceError) as caught:
        s.expect_values(s.call("add_.Tensor", s.call("abs", x), x), [2.0, 1.0])
    snippet = caught.value.snippet
    assert "with HandingOn(): y2 = torch.abs(x1)\nwith HandingOn(): y3 = y2.add_(x1)\n" in snippet
    with pytest.raises(AssertionError, match=r"0\.0"):
        exec(snippet, {})


def test_references_are_those_of_torch() -> None:
    backend = wrapped.References()
    x = backend.from_numpy(np.float32([3, 1]))
    assert backend._resolve("exp") is torch._refs.exp
    assert backend.call("add.Tensor", x, 1).tolist() == [4, 2]
    with pytest.raises(Unsupported, match=r"torch\._refs has no sort"):
        backend.call("sort", x)


def test_losses_that_take_their_reduction_by_name_are_no_operators() -> None:
    backend = wrapped.References()
    x = backend.from_numpy(np.float32([1, -2]))
    with pytest.raises(Unsupported):
        backend.call("margin_ranking_loss", x, x, x, 0.0, 1)
    assert backend.call("relu", x).tolist() == [1, 0]


def test_operators_are_compiled_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compiling(function: object, **options: object) -> object:
        asked.append(options)
        return function

    monkeypatch.setattr(torch, "compile", compiling)
    backend = wrapped.Compiled("aot_eager")
    x = backend.from_numpy(np.float32([4]))
    assert backend.call("sqrt", x).tolist() == [2]
    assert backend.call("__len__", x) == 1
    assert asked == [{"backend": "aot_eager", "dynamic": True}]
    with pytest.raises(ValueError, match="must be one of eager, aot_eager, inductor, not 'fast'"):
        wrapped.Compiled("fast")


def test_each_method_is_compiled_separately() -> None:
    backend = wrapped.Compiled("eager")
    x = backend.from_numpy(np.float32([4, 9]))
    assert backend.call("method:neg", x).tolist() == [-4, -9]
    assert backend.call("method:sqrt", x).tolist() == [2, 3]
    assert backend.call("add_.Scalar", x, 1) is x
    assert backend.call("hardsigmoid_", x) is x  # not a method
    assert backend.call("method:sqrt", backend.from_numpy(np.float32([4]))).tolist() == [2]
    written = backend.dialect.expression("method:neg", (), {})
    assert written.startswith("torch.compile(lambda *args, **kwargs: torch.Tensor.neg(*args, **kwargs), backend='")


def test_torch_reuses_the_code_of_the_first_method_compiled_directly() -> None:
    torch._dynamo.reset()
    compiled = [torch.compile(method, backend="eager") for method in (torch.Tensor.neg, torch.Tensor.sqrt)]
    assert [f(torch.tensor([4.0])).tolist() for f in compiled] == [[-4], [-4]]
