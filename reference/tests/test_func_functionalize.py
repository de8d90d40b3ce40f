"""functionalize: results and arguments are as without it, and no write and no view is seen below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.func import functionalize
from gaugeblock.tensor.hooks import SPECIAL
from gaugeblock.utils._python_dispatch import TorchDispatchMode
from hypothesis import given
from hypothesis import strategies as st

REMOVE = ("mutations", "mutations_and_views")


class Seen(TorchDispatchMode):
    """Writes down the schemas of the operators that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.schemas: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.schemas.append(func._schema)
        return func(*args, **(kwargs or {}))

    def written(self) -> list[str]:
        """Names of the operators that wrote to an argument."""
        return [one.name for one in self.schemas if any(a.alias_info and a.alias_info.is_write for a in one.arguments)]

    def views(self) -> list[str]:
        """Names of the operators that returned a view."""
        return [
            one.name for one in self.schemas if any(r.alias_info and not r.alias_info.is_write for r in one.returns)
        ]


def start() -> Any:
    return gb.arange(12.0).reshape(3, 4)


def check(program: Callable[[Any], Any], remove: str) -> Seen:
    """Expect the results of a program and what it makes of its argument."""
    plain, other = start(), start()
    want = program(plain)
    with Seen() as seen:
        got = functionalize(program, remove=remove)(other)
    for one, wanted in zip(got, want, strict=True):
        assert type(one) is gb.Tensor and one.dtype is wanted.dtype and one.tolist() == wanted.tolist()
    assert other.tolist() == plain.tolist() and not SPECIAL
    assert seen.written() in ([], ["aten::copy_"])
    if remove == "mutations_and_views":
        assert seen.views() == []
    return seen


STEPS: dict[str, Callable[[Any], Any]] = {
    "select": lambda x: x[1].add_(10), "slice": lambda x: x[:, 1:3].mul_(2), "step": lambda x: x[::2].zero_(),
    "view": lambda x: x.view(-1)[3:5].fill_(7), "t": lambda x: x.t()[0].copy_(x[0, 0]),
    "diagonal": lambda x: x.diagonal().sub_(1), "narrow": lambda x: x.narrow(1, 1, 2).neg_(),
    "unbind": lambda x: x.unbind(1)[2].exp_(), "split": lambda x: x.split(3, 1)[1].add_(5),
    "chunk": lambda x: x.chunk(2)[0].mul_(3), "unsqueeze": lambda x: x.unsqueeze(1)[0].add_(x[2]),
    "squeeze": lambda x: x[:1].squeeze(0).add_(1), "permute": lambda x: x.permute(1, 0)[1].mul_(-1),
    "transpose": lambda x: x.transpose(0, 1)[3].sin_(), "movedim": lambda x: x.movedim(0, 1)[2].add_(2),
    "flatten": lambda x: x.flatten()[::3].add_(100), "as_strided": lambda x: x.as_strided((2, 2), (5, 1), 1).fill_(-1),
    "setitem": lambda x: x.__setitem__((slice(None), 0), 3.0),
    "index_put": lambda x: x.__setitem__(gb.tensor([2, 0]), 1.0), "whole": lambda x: x.mul_(2),
    "masked_fill": lambda x: x.masked_fill_(x > 5, 0), "bits": lambda x: x.view(gb.int32)[0].add_(1),
    "reshape": lambda x: x.reshape(4, 3)[1].add_(1), "swapaxes": lambda x: x.swapaxes(0, 1)[1].add_(1),
    "detach": lambda x: x.detach()[0].add_(1), "out": lambda x: gb.add(x, 1, out=x),
    "copy": lambda x: x.copy_(x.flip(0)), "fill": lambda x: x.fill_(gb.tensor(2.5)), "cumsum": lambda x: x.cumsum_(1),
    "unflatten": lambda x: x.unflatten(1, (2, 2))[:, 1].add_(3),
}  # fmt: skip


@pytest.mark.parametrize("remove", REMOVE)
@pytest.mark.parametrize("name", STEPS)
def test_a_write_through_each_view(name: str, remove: str) -> None:
    def program(x: Any) -> tuple[Any, ...]:
        before = x.t()
        STEPS[name](x)
        return x + 0, before.sum(), x.view(-1)[1:] * 2

    check(program, remove)


@given(names=st.lists(st.sampled_from(sorted(STEPS)), max_size=5), remove=st.sampled_from(REMOVE))
def test_programs_of_writes_and_views(names: list[str], remove: str) -> None:
    def program(x: Any) -> tuple[Any, ...]:
        own = x.clone()
        column, corner = own[:, 1], own[1:, 2:]
        for name in names:
            STEPS[name](own)
            if name != "bits":
                x[0].add_(corner[0, 0])
        return own, column.sum(), corner.clone(), gb.zeros(4).add_(own[0])

    check(program, remove)


def test_golden_trace() -> None:
    def program(x: Any) -> tuple[Any, ...]:
        y = x.clone()
        y[1].add_(10)
        return (y,)

    seen = check(program, "mutations_and_views")
    names = [one.name.removeprefix("aten::") for one in seen.schemas]
    assert names == ["clone", "select_copy", "add", "select_scatter"]
    seen = check(program, "mutations")
    assert [one.name.removeprefix("aten::") for one in seen.schemas] == ["clone", "select", "add", "select_scatter"]


def test_metadata_of_views_is_that_without_it() -> None:
    facts: list[Any] = []

    def program(x: Any) -> Any:
        y = x.t()[1:, ::2]
        facts.append((y.shape, y.stride(), y.storage_offset(), y.is_contiguous()))
        with pytest.raises(RuntimeError):
            x.t().view(-1)
        z = x.clone()
        z.t_().unsqueeze_(0)
        facts.append((z.shape, z.stride()))
        return z

    want = program(start())
    got = functionalize(program, remove="mutations_and_views")(start())
    assert facts[0] == facts[2] and facts[1] == facts[3] and got.tolist() == want.tolist()


def test_gradients_pass() -> None:
    leaf = gb.ones(3, requires_grad=True)

    def program(x: Any) -> Any:
        y = x * 1
        y[1:].mul_(3)
        return (y * y).sum()

    functionalize(program)(leaf).backward()
    assert leaf.grad.tolist() == [2, 18, 18]
    assert gb.func.grad(functionalize(program, remove="mutations_and_views"))(gb.ones(3)).tolist() == [2, 18, 18]


def test_arguments_in_containers_and_of_both_kinds() -> None:
    given_ = {"x": gb.zeros(2), "n": 3}
    found = functionalize(lambda d, *, k: (d["x"].add_(d["n"]), k))(given_, k=[gb.ones(1)])
    assert given_["x"].tolist() == [3, 3] and found[0].tolist() == [3, 3] and found[1][0].tolist() == [1]
    assert functionalize(lambda x: x.sum().item())(gb.ones(3)) == 3
    assert functionalize(lambda x: x[x > 0].tolist())(gb.tensor([1.0, -1.0])) == [1.0]


def test_refusals() -> None:
    outside = gb.zeros(2)
    for program in (lambda x: outside.add_(x), lambda x: outside.view(-1).add_(1)):
        with pytest.raises(RuntimeError, match="tensor from outside"):
            functionalize(program)(gb.ones(2))
    assert outside.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Valid options are: 'mutations', 'mutations_and_views'"):
        functionalize(lambda x: x, remove="all")
    with pytest.raises(TypeError, match="callable"):
        functionalize(3)
    with pytest.raises(RuntimeError, match="resize_"):
        functionalize(lambda x: x.resize_(3))(gb.ones(2))
    with pytest.raises(RuntimeError, match="broadcast shape"):
        functionalize(lambda x: x.add_(gb.ones(3, 2)))(gb.ones(2))
    with pytest.raises(RuntimeError, match=r"single memory location|expand"):
        functionalize(lambda x: x.expand(2, 2).add_(1))(gb.ones(2))
    assert not SPECIAL
