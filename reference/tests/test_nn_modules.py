"""Parameter, Module and Linear, and functional_call."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gaugeblock as gb
import pytest

nn = gb.nn


class Two(nn.Module):
    """Two linear layers and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1, bias=False)
        self.register_buffer("scale", gb.tensor(2.0))
        self.register_buffer("scratch", gb.zeros(1), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu()) * self.scale


def test_a_parameter_is_a_marked_leaf() -> None:
    data = gb.ones(2)
    p = nn.Parameter(data)
    assert isinstance(p, nn.Parameter) and isinstance(p, gb.Tensor)
    assert p.is_leaf and p.requires_grad and p.data_ptr() == data.data_ptr()
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    for other in (data, p * 1, p.detach(), p.data):
        assert not isinstance(other, nn.Parameter)
    assert isinstance(copy.deepcopy(p), nn.Parameter) and isinstance(pickle.loads(pickle.dumps(p)), nn.Parameter)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    with pytest.raises(TypeError, match="data"):
        nn.Parameter(3)


def test_a_module_lists_its_members() -> None:
    m = Two()
    assert [name for name, _ in m.named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in m.named_modules()] == ["", "first", "second"]
    assert list(m.state_dict()) == ["scale", "first.weight", "first.bias", "second.weight"]
    assert list(dict(m.named_buffers())) == ["scale", "scratch"]
    assert [type(one).__name__ for one in m.children()] == ["Linear", "Linear"]
    assert not m.eval().first.training
    m.tied = m.first
    assert len(list(m.parameters())) == 3
    assert repr(m.second) == "Linear(in_features=3, out_features=1, bias=False)"


def test_states_are_loaded() -> None:
    m, other = Two(), Two()
    assert other.load_state_dict(m.state_dict()) == ([], [])
    x = gb.ones(1, 2)
    assert other(x).tolist() == m(x).tolist()
    state = m.state_dict()
    del state["scale"]
    with pytest.raises(RuntimeError, match=r"Missing key.*'scale'"):
        other.load_state_dict(state)
    assert other.load_state_dict(state | {"more": x}, strict=False) == (["scale"], ["more"])
    with pytest.raises(RuntimeError, match=r"size mismatch for first.bias"):
        other.load_state_dict(m.state_dict() | {"first.bias": gb.ones(2)})


def test_a_module_is_trained_copied_and_cast() -> None:
    m = Two()
    m(gb.ones(4, 2)).sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())
    assert pickle.loads(pickle.dumps(copy.deepcopy(m)))(gb.ones(1, 2)).tolist() == m(gb.ones(1, 2)).tolist()
    assert m.double().first.weight.dtype is gb.float64
    assert m.first.weight.requires_grad and m.first.weight.is_leaf


class Mixed(nn.Module):
    """Parameters of four dims and of two, and buffers of an integer and a floating point dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.image = nn.Linear(2, 2), nn.Conv2d(1, 1, 2)
        self.normal = nn.BatchNorm1d(2)

    def forward(self, x: Any) -> Any:
        return self.normal(self.line(x))


def test_conversions_keep_parameters_and_take_gradients_along() -> None:
    m = Mixed()
    weight, running = m.line.weight, m.normal.running_mean
    m(gb.ones(3, 2)).sum().backward()
    assert m.double() is m and m.line.weight is weight
    assert weight.dtype is weight.grad.dtype is m.normal.running_mean.dtype is gb.float64
    assert m.normal.num_batches_tracked.dtype is gb.int64 and running.dtype is gb.float32
    assert m.to(gb.ones(1)).line.weight.dtype is m.bfloat16().float().line.weight.dtype is gb.float32
    assert m.half().line.bias.dtype is gb.float16 and m.type(gb.float64).normal.num_batches_tracked.dtype is gb.float64
    assert Mixed().to(memory_format=gb.channels_last).image.weight.stride() == (4, 1, 2, 1)
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        m.to(gb.int64)
    with pytest.raises(TypeError, match=r"to\(\): argument 'device' must be device or str, not float"):
        m.to(3.5)


def test_modules_go_to_devices_and_back() -> None:
    gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    try:
        m = Mixed()
        weight, before = m.line.weight, m.line.weight.detach().clone()
        m(gb.ones(3, 2)).sum().backward()
        m.to("cuda", gb.float64)
        assert m.line.weight is weight and isinstance(weight, nn.Parameter) and weight.requires_grad
        tensors = (*m.parameters(), *m.buffers(), weight.grad)
        assert {str(one.device) for one in tensors} == {"cuda:0"} and weight.dtype is gb.float64
        assert m.cuda(1).normal.num_batches_tracked.device == gb.device("cuda", 1)
        optimizer = gb.optim.SGD(m.parameters(), lr=0.5)
        optimizer.zero_grad()
        m(gb.ones(3, 2, dtype=gb.float64, device="cuda:1")).sum().backward()
        optimizer.step()
        assert gb.allclose(m.cpu().to(gb.float32).line.weight, before)
        assert m.line.weight.grad.device == gb.device("cpu")
    finally:
        del m, weight, tensors, optimizer
        gb.cuda.use_driver(None)


def test_meta_modules_have_new_parameters() -> None:
    m = Mixed()
    weight = m.line.weight
    m.to("meta")
    assert m.line.weight is not weight and weight.device == gb.device("cpu")
    assert isinstance(m.line.weight, nn.Parameter) and m.line.weight.is_meta and m.normal.running_var.is_meta
    m.to_empty(device="cpu")
    assert m.line.weight.shape == (2, 2) and m.line.weight.requires_grad and not m.normal.running_var.is_meta
    m.load_state_dict(Mixed().state_dict())


def test_members_are_found_by_dotted_names() -> None:
    m = nn.Sequential(Mixed())
    assert m.get_submodule("0.line") is m[0].line and m.get_submodule("") is m
    assert m.get_parameter("0.line.weight") is m[0].line.weight
    assert m.get_buffer("0.normal.running_mean") is m[0].normal.running_mean
    for call, target, message in (
        (m.get_parameter, "0.line.w", r"Linear has no parameter 'w', asked for as '0\.line\.w'"),
        (m.get_buffer, "0.line.weight", "Linear has no buffer 'weight'"),
        (m.get_submodule, "0.lines.weight", "Mixed has no submodule 'lines'"),
    ):
        with pytest.raises(AttributeError, match=message):
            call(target)


def test_objects_that_a_module_cannot_hold_are_refused() -> None:
    m = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="cannot assign Tensor as parameter 'weight'"):
        m.weight = gb.ones(1, 1)
    with pytest.raises(TypeError, match=r"nn\.Parameter or None"):
        m.register_parameter("p", gb.ones(1))
    with pytest.raises(KeyError, match="already exists"):
        m.register_buffer("weight", gb.ones(1))
    with pytest.raises(KeyError, match="contain"):
        m.register_buffer("a.b", gb.ones(1))
    with pytest.raises(AttributeError, match="foo"):
        _ = m.foo
    with pytest.raises(ValueError, match="boolean"):
        m.train(3)
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_functional_call_swaps_tensors_for_one_call() -> None:
    m = nn.Linear(2, 1)
    given = {"weight": gb.tensor([[1.0, 2.0]]), "bias": gb.tensor([3.0])}
    assert gb.func.functional_call(m, given, gb.ones(1, 2)).tolist() == [[6.0]]
    before = m.weight
    slopes = gb.func.grad(lambda p: gb.func.functional_call(m, p, (gb.ones(1, 2),)).sum())(given)
    assert {name: one.tolist() for name, one in slopes.items()} == {"weight": [[1.0, 1.0]], "bias": [1.0]}
    assert m.weight is before
    with pytest.raises(KeyError, match="other"):
        gb.func.functional_call(m, {"other": before}, gb.ones(1, 2))
    with pytest.raises(RuntimeError, match=r"Missing key.*'bias'"):
        gb.func.functional_call(m, {"weight": before}, gb.ones(1, 2), strict=True)
