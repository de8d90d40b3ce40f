"""Every operator on the simulated CUDA device gives what it gives on the CPU: values, metadata, versions, errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch import REGISTRY, call
from gaugeblock.operators.rows import rows
from gaugeblock_spec.schema import parse

RANDOM = frozenset(
    """rand randn randint randperm bernoulli multinomial normal uniform_ normal_ random_ exponential_ cauchy_
    log_normal_ geometric_ poisson binomial native_dropout dropout alpha_dropout feature_dropout
    feature_alpha_dropout rrelu rrelu_with_noise rand_like randn_like randint_like bernoulli_ empty empty_like
    empty_strided new_empty new_empty_strided""".split()
)
"""Rows whose values are drawn, or whatever lies in memory."""
RAISED = (IndexError, RuntimeError, ValueError, TypeError)


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    gb.cuda.use_driver("simulated", total_memory=1 << 28)
    yield
    gb.cuda.use_driver(None)


def described(value: Any, random: bool) -> Any:
    if isinstance(value, gb.Tensor):
        shown = (tuple(value.shape), tuple(value.stride()), value.dtype, value.requires_grad)
        return (*shown, None if random else value.tolist())
    if isinstance(value, tuple | list):
        return [described(part, random) for part in value]
    return value


def left(value: Any, random: bool) -> Any:
    """An argument after the call."""
    return (described(value, random), value._version)


def outcome(name: str, text: str, names: dict[str, Any], random: bool) -> Any:
    """The result and what was written to, or the class of the exception."""
    operator = REGISTRY.find(name)
    given: list[Any] = []

    def arguments(*args: Any, **kwargs: Any) -> Any:
        given.extend((*args, *kwargs.values()))
        return call(operator, *args, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(f"F({text})", {**names, "F": arguments})
            return described(result, random), [left(one, random) for one in given if isinstance(one, gb.Tensor)]
        except RAISED as error:
            return type(error)


def forms(name: str, text: str) -> list[tuple[str, str]]:
    """A call of a row's functional, in-place and out= forms."""
    row = rows()[name]
    found = [(name, text)]
    if row.inplace is not None and row.inplace_name is not None:
        orders = [[argument.name for argument in parse(schema).arguments] for schema in (row.schema, row.inplace)]
        if orders[0] == orders[1]:
            found.append((row.inplace_name, text))
    if row.out is not None and row.out_name is not None:
        outs = [argument for argument in parse(row.out).arguments if argument.kwarg_only and argument.written]
        if len(outs) == 1:
            found.append((row.out_name, f"{text}, {outs[0].name}=OUT" if text else f"{outs[0].name}=OUT"))
    return found


def on(device: str, sample_names: Any) -> dict[str, Any]:
    names = sample_names(gb, "cpu")
    if device != "cpu":
        names = {name: moved(one) if isinstance(one, gb.Tensor) else one for name, one in names.items()}
        names["D"] = gb.device(device)
    return {**names, "OUT": gb.zeros(3, 4, device=device)}


def moved(tensor: Any) -> Any:
    """The tensor with its strides on the device."""
    made = gb.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda")
    if 0 in tensor.stride():
        made = tensor.to("cuda")
        return made[:, :1].expand(tensor.shape) if tensor.dim() == 2 else made
    made.copy_(tensor).storage_impl.version = 0
    return made


@pytest.mark.parametrize("name", sorted(rows()))
def test_the_device_agrees_with_the_cpu(name: str, operator_samples: dict[str, list[str]], sample_names: Any) -> None:
    random = rows()[name].base in RANDOM
    for text in operator_samples[name]:
        for form, arguments in forms(name, text):
            here = outcome(form, arguments, on("cpu", sample_names), random)
            there = outcome(form, arguments, on("cuda", sample_names), random)
            assert repr(there) == repr(here), f"{form}({arguments})"
