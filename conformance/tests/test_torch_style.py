"""The adapter for modules with torch's names: where it looks for an operator, and what it says if nothing is there."""

from __future__ import annotations

import contextlib
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backends.array_api import ArrayApiBackend
from gaugeblock_conformance.backends.torch_style import TorchStyleBackend


class AnyName:
    """A namespace that has a function of whatever name, as Paddle's ``ops.aten``."""

    def __getattr__(self, name: str) -> Any:
        def refuse(*args: Any) -> None:
            raise RuntimeError(f"operator aten::{name} not found in the registry")

        return refuse


class Tensor:
    def detach(self) -> str:
        return "detached"


def library(**more: Any) -> Any:
    made = SimpleNamespace(__name__="lib", Tensor=Tensor, float32=np.float32, where=lambda c, x, y: "where", **more)
    return TorchStyleBackend(made)


def test_a_stub_that_takes_any_name_is_no_operator() -> None:
    backend = library(ops=SimpleNamespace(aten=AnyName()))
    assert backend.call("detach", Tensor()) == "detached"
    assert backend.call("where.self", True, 1, 2) == "where"
    with pytest.raises(Unsupported):
        backend.call("select.int", Tensor(), 0, 0)


class AnyMethod(type):
    def __getattr__(cls, name: str) -> Any:
        return AnyName().add


class Loose(metaclass=AnyMethod):
    """A class of tensors that has a method of whatever name."""


def test_a_class_that_has_any_method_offers_none() -> None:
    backend = library()
    backend.module.Tensor = Loose
    with pytest.raises(Unsupported, match="lib has none of"):
        backend.call("method:select.int", Loose(), 0, 0)
    with pytest.raises(Unsupported):
        backend.function("view")


def test_what_cannot_be_called_is_no_operator() -> None:
    with pytest.raises(Unsupported, match="lib has none of"):
        library(gamma=0.577).call("gamma", 1.0)
    networks = SimpleNamespace(functional=SimpleNamespace(relu=lambda x: "relu"))
    assert library(nn=networks, relu=1).call("relu", 1) == "relu"


def test_a_namespace_that_has_any_name_offers_no_function_of_the_array_api() -> None:
    class Space(AnyName):
        __name__ = "space"
        float32 = np.float32

    loose = Space()
    backend = ArrayApiBackend(loose, "loose")
    for operator in ("add.Tensor", "linalg_det"):
        with pytest.raises(Unsupported):
            backend.function(operator)
    with pytest.raises(Unsupported):
        backend.function("exp")


def test_operators_of_ops_are_found() -> None:
    backend = library(ops=SimpleNamespace(aten=SimpleNamespace(fmod=lambda x, y: "fmod")))
    assert backend.call("fmod.Tensor", 1, 2) == "fmod"


def test_the_names_tried_are_told() -> None:
    with pytest.raises(Unsupported) as absent:
        library().call("linalg_det", Tensor())
    wanted = "linalg.det, linalg_det, nn.functional.linalg_det, ops.aten.linalg_det, Tensor.linalg_det"
    assert absent.value.reason == f"lib has none of {wanted}"
    with pytest.raises(Unsupported) as absent:
        library().call("method:zeros_like", Tensor())
    assert absent.value.reason == "lib has none of Tensor.zeros_like"


class Plain:
    """A tensor whose ``clone`` takes no memory format, as Paddle's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def clone(self) -> Plain:
        return Plain(self.array.copy())


def test_a_module_without_memory_formats_is_asked_for_none() -> None:
    given = np.zeros(2, np.float32)
    made = library(from_numpy=Plain).from_numpy(given)
    assert made.array is not given and made.array.tolist() == [0.0, 0.0]


def test_frames_of_an_operator_that_is_not_offered_end_with_the_exception() -> None:
    class Guard:
        pass

    kept: list[weakref.ref[Guard]] = []

    class Lacking(TorchStyleBackend):
        def _missing(self, operator: str, error: RuntimeError) -> Unsupported | None:
            return Unsupported(operator)

    def absent(*args: Any) -> None:
        guard = Guard()
        kept.append(weakref.ref(guard))
        raise RuntimeError("no kernel")

    backend = Lacking(SimpleNamespace(__name__="lib", Tensor=Tensor, float32=np.float32, absent=absent))
    gc.disable()
    try:
        with contextlib.suppress(Unsupported):
            backend.call("absent", Tensor())
        assert [guard() for guard in kept] == [None]
    finally:
        gc.enable()
