"""Meta tensors: every operator gives the sizes, strides and dtypes, and the errors, that it gives with data."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch import REGISTRY, call
from gaugeblock.operators.rows import rows
from gaugeblock_spec.schema import parse

NO_META = {
    "nonzero": "its sizes depend on the values",
    "argwhere": "its sizes depend on the values",
    "masked_select": "its sizes depend on the values",
    "_unique2": "its sizes depend on the values",
    "unique_dim": "its sizes depend on the values",
    "item": "it gives a value",
    "equal": "it gives a truth",
    "allclose": "it gives a truth",
}
"""Operators without a kernel for meta tensors, and why."""
READING = {"to.device", "narrow.Tensor", "tensor_split.tensor_indices_or_sections"}
"""Rows whose calls name a device or read a value that decides the sizes; the latter are tried below."""
SIZED_BY_VALUES = {"bincount", "unique_consecutive", "one_hot", "where"}
"""Rows whose kernel for meta tensors raises where the sizes of the result depend on the values."""
JUDGING = {
    "linalg_inv", "inverse", "linalg_solve", "linalg_lu_factor", "linalg_cholesky", "cholesky", "quantile",
    "nanquantile", "binary_cross_entropy", "is_nonzero",
}  # fmt: skip
"""Rows that refuse some values, which only a call with data can do."""
RAISED = (IndexError, RuntimeError, ValueError, TypeError)


def described(value: Any) -> Any:
    if isinstance(value, gb.Tensor):
        return tuple(value.shape), tuple(value.stride()), value.dtype
    if isinstance(value, tuple | list):
        return [described(part) for part in value]
    return value


def outcome(name: str, text: str, names: dict[str, Any]) -> Any:
    """The result's metadata, or the class of the exception."""

    def arguments(*args: Any, **kwargs: Any) -> Any:
        return call(REGISTRY.find(name), *args, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(eval(f"F({text})", {**names, "F": arguments}))
        except RAISED as error:
            return type(error)


def forms(name: str, text: str) -> list[tuple[str, str]]:
    """A call of a row's functional and in-place forms."""
    row = rows()[name]
    if row.inplace is None or row.inplace_name is None:
        return [(name, text)]
    orders = [[argument.name for argument in parse(schema).arguments] for schema in (row.schema, row.inplace)]
    return [(name, text)] + ([(row.inplace_name, text)] if orders[0] == orders[1] else [])


def has_meta(name: str) -> bool:
    keys = ("Meta", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")
    return REGISTRY.find(name).has_kernel(*keys)


def test_operators_without_meta_are_these() -> None:
    forms = [form for row in rows().values() for form in (row.name, row.inplace_name, row.out_name) if form]
    missing = {form for form in forms if not has_meta(form)}
    assert missing == {form for form in forms if form in NO_META or form.removesuffix(".out") in NO_META}


@pytest.mark.parametrize("name", sorted(NO_META))
def test_operators_without_meta_say_so(name: str, sample_names: Any) -> None:
    names = sample_names(gb, "meta")
    x, c = names["x"], names["c"]
    arguments = {"masked_select": (x, c), "equal": (x, x), "allclose": (x, x), "unique_dim": (x, 0)}.get(name, (x,))
    with pytest.raises(NotImplementedError):
        call(REGISTRY.find(name), *arguments)


def test_every_row_has_sample_calls(operator_samples: dict[str, list[str]]) -> None:
    assert set(operator_samples) == set(rows())


@pytest.mark.parametrize("name", [name for name in rows() if name not in READING and name not in NO_META])
def test_meta_agrees_with_cpu(name: str, operator_samples: dict[str, list[str]], sample_names: Any) -> None:
    for text in operator_samples[name]:
        for form, arguments in forms(name, text):
            with_data = outcome(form, arguments, sample_names(gb, "cpu"))
            without = outcome(form, arguments, sample_names(gb, "meta"))
            if name in SIZED_BY_VALUES:
                assert isinstance(without, type), f"{form}({arguments})"
            elif name not in JUDGING or not isinstance(with_data, type):
                assert without == with_data, f"{form}({arguments})"


def test_values_that_decide_are_refused(sample_names: Any) -> None:
    names = sample_names(gb, "meta")
    x, i, s, c = (names[name] for name in "xisc")
    index = gb.ones((), dtype=gb.int64, device="meta")
    for refused in (s.item, lambda: bool(s), lambda: x[index], lambda: x[c], lambda: x.narrow(0, index, 1), x.tolist):
        with pytest.raises(RuntimeError):
            refused()
    with pytest.raises(RuntimeError, match="output_size"):
        i.repeat_interleave(i)


def test_indexing_and_assignment() -> None:
    x, i = gb.empty(3, 4, device="meta"), gb.empty(2, dtype=gb.int64, device="meta")
    assert x[i].shape == x[gb.tensor([0, 1])].shape == (2, 4)
    assert x[:, i].shape == (3, 2) and x[i].device.type == "meta"
    version = x._version
    x[i] = 1.0
    x[x > 0] = x[0, 0]
    x[0] = 2.0
    assert x._version == version + 3
    with pytest.raises(RuntimeError, match="broadcast"):
        x[i] = gb.empty(3, device="meta")


@pytest.mark.parametrize(
    "text",
    ["x.index_select(0, i)", "x.gather(1, g)", "x.scatter(1, g, 1.0)", "x + y", "x.add_(y)", "gb.cat([x, y])", "x[i]",
     "x.index_put((i,), s)", "gb.where(c, x, y)", "x.masked_fill(c, 1.0)", "gb.isin(x, y)", "x.mm(y.t())",
     "x.set_(y)", "gb.add(x, x, out=y)", "gb.gather(x, 1, g, out=y)"],
)  # fmt: skip
@pytest.mark.parametrize("meta_first", [True, False])
def test_devices_do_not_mix(text: str, meta_first: bool, sample_names: Any) -> None:
    cpu, meta = sample_names(gb, "cpu"), sample_names(gb, "meta")
    names = {**(cpu if meta_first else meta), "x": (meta if meta_first else cpu)["x"], "gb": gb}
    if meta_first and text in ("x[i]", "x.index_put((i,), s)"):
        assert eval(text, names).device.type == "meta"
        return
    with pytest.raises(RuntimeError):
        eval(text, names)
