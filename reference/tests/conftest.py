"""Sample calls of the operators, shared by the tests that go through the whole operator table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from gaugeblock.operators.rows import Row, rows
from gaugeblock_spec.schema import Argument, parse
from hypothesis import HealthCheck, settings

# How long drawing takes depends on what else the machine does.
settings.register_profile("any speed", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")
SAMPLES = Path(__file__).parent / "data" / "operator_samples.yaml"
VALUES = {"Scalar": "2", "int": "1", "SymInt": "1", "float": "0.5", "bool": "True", "str": "'none'"}
"""What stands for a required argument of a schema type."""


def pointwise_samples(row: Row) -> list[str]:
    """Calls of a pointwise row on strided, expanded, 0-dim, integer and complex tensors."""
    return [
        ", ".join(_argument(argument, place, tensors) for place, argument in enumerate(_required(row)))
        for tensors in (("y", "x", "e"), ("v", "x", "s"), ("n", "u", "n"), ("c", "c", "y"), ("z", "v", "v"))
    ]


def drawn_samples(row: Row) -> list[str]:
    """Calls of a row that has no written ones, by the types in its schema; many of them raise."""
    shapes = (("q", "q", "q"), ("a", "a", "v"), ("y", "x", "v"), ("v", "v", "v"), ("q", "v", "v"), ("i", "i", "i"))
    return [", ".join(_drawn(row, tensors)) for tensors in (*shapes, ("a", "k", "v"), ("n", "c", "z"))]


def _drawn(row: Row, tensors: tuple[str, ...]) -> Iterator[str]:
    place = 0
    for argument in _required(row):
        value = VALUES.get(argument.base_type, "None")
        if argument.base_type == "Tensor":
            value = tensors[min(place, 2)]
            place += 1
        if argument.is_list:
            value = f"({value}, {value})" if argument.type.rstrip("?").endswith(("[]", "[2]")) else f"({value},)"
        yield f"{argument.name}={value}" if argument.kwarg_only else value


def _required(row: Row) -> list[Argument]:
    return [argument for argument in parse(row.schema).arguments if argument.default is None]


def _argument(argument: Argument, place: int, tensors: tuple[str, ...]) -> str:
    value = tensors[min(place, 2)] if argument.base_type == "Tensor" else VALUES.get(argument.base_type, "None")
    return f"{argument.name}={value}" if argument.kwarg_only else value


@pytest.fixture(scope="session")
def operator_samples() -> dict[str, list[str]]:
    """Row name -> calls, as the text between the brackets; names as in the file's head."""
    written: dict[str, list[str]] = yaml.safe_load(SAMPLES.read_text())
    drawn = {
        row.name: pointwise_samples(row) if row.family == "pointwise" else drawn_samples(row) for row in rows().values()
    }
    return drawn | written


@pytest.fixture(scope="session")
def sample_names() -> Any:
    """Function of a module like torch and a device: the names that the calls use."""

    def names(module: Any, device: str) -> dict[str, Any]:
        x = module.arange(12.0).reshape(3, 4) + 0.5
        made = {
            "x": x, "y": module.arange(12.0).reshape(4, 3).t(), "e": x[:, :1].expand(3, 4), "v": module.arange(4.0),
            "s": module.ones(()), "a": module.arange(24.0).reshape(2, 3, 4), "k": module.ones(4, 3),
            "q": module.eye(3) + 1, "o": module.ones(0, 4), "i": module.tensor([0, 2, 1]),
            "n": module.ones(3, 4, dtype=module.int64), "g": module.tensor([[0, 1], [2, 1], [0, 2]]),
            "j": module.ones(2, 3, dtype=module.int32), "c": x > 4, "m": module.arange(4.0) > 1,
            "u": module.ones(4, dtype=module.int32), "z": x.to(module.complex64),
        }  # fmt: skip
        moved = {name: _like(module, tensor, device) for name, tensor in made.items()}
        constants = {name: getattr(module, name) for name in ("int32", "int64", "float64", "bool", "float32")}
        formats = {name: getattr(module, name) for name in ("contiguous_format", "channels_last")}
        return {**moved, **constants, **formats, "D": module.device(device), "__builtins__": {}}

    return names


def _like(module: Any, tensor: Any, device: str) -> Any:
    """The tensor, or one of its sizes, strides and dtype on a device without data."""
    if device == "cpu":
        return tensor
    return module.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
