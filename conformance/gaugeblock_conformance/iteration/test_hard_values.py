"""Every pointwise operator in every dtype of its row, over all hard values at once: no operator is left to luck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..backend import Array, numpy_dtype
from ..operators.calls import call_on
from ..operators.numbers import choices, settled
from ..oracles.agreement import expect_pointwise
from ..oracles.judged import judged
from ..oracles.pointwise import expected, operators_with_oracle
from ..oracles.promotion import CORE, FLOAT, KIND
from ..requirement import requirement
from ..session import ConformanceError, Session
from ..values import COMPLEX, FLOATS, SIGNED, table

_TRIPLES = 600
# What no argument is, as the default of one that has none.
_NONE = object()
_DRAWN = 96
_DIVISIONS = ("div.", "floor_divide", "remainder", "fmod", "lcm")


def _values(dtype: str, seed: int) -> Array:
    """The hard values of a float dtype and some of any size."""
    random = np.random.default_rng(seed)
    drawn = random.choice([-1.0, 1.0], _DRAWN) * np.exp2(random.uniform(-12, 7, _DRAWN))
    return np.concatenate([table(dtype), drawn.astype(numpy_dtype(dtype))])


def _grid(name: str, dtype: str, count: int, seed: int) -> list[Array]:
    """``count`` operands of one length in which the hard values meet each other."""
    hard = table(dtype)
    if name.startswith(_DIVISIONS) and dtype in SIGNED:
        # The smallest integer by -1 is the matter of ``dtypes/smallest-int-by-minus-one``.
        hard = hard[hard != np.iinfo(numpy_dtype(dtype)).min]
    if count == 1 and "Scalar_Tensor" in name and KIND[dtype] < FLOAT:
        hard = hard[hard != 0]
    if count == 1 and dtype in COMPLEX:
        # Parts whose squares leave the range.
        edge = np.finfo(hard.real.dtype).max ** 0.75
        hard = np.concatenate([hard, np.array([edge + 1j * edge, 1j * edge - edge, 1 / edge - 1j / edge], hard.dtype)])
    if count == 1:
        # Few values are repeated, so that a loop over vectors has some left over.
        return [_values(dtype, seed) if dtype in FLOATS else np.resize(hard, 3 * len(hard) + 1)]
    if count == 2:
        left, right = (side.reshape(-1) for side in np.meshgrid(hard, hard, indexing="ij"))
        if name.startswith(_DIVISIONS) and KIND[dtype] < FLOAT:
            left, right = left[right != 0], right[right != 0]
        return [left, right]
    chosen = np.random.default_rng(seed).integers(0, len(hard), (count, _TRIPLES))
    return [hard[row] for row in chosen]


def _options(name: str, dtype: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Values for the arguments that are no tensors, each of their choices at least once, and the dtype they lead to."""
    columns: dict[str, Sequence[Any]] = {}
    defaults: dict[str, Any] = {}
    for argument in parse(operators.load()[name].schema).arguments:
        options = None if argument.type.startswith("Tensor") else choices(argument, dtype)
        if options is not None:
            columns[argument.name] = options
            defaults[argument.name] = _NONE if argument.default is None else argument.default_value
    for k in range(max(map(len, columns.values()), default=1)):
        row = {argument: options[k % len(options)] for argument, options in columns.items()}
        yield settled({argument: value for argument, value in row.items() if value != defaults[argument]}, dtype)


def _operands(name: str, dtype: str, seed: int) -> list[Array]:
    names = [a.name for a in parse(operators.load()[name].schema).arguments if a.type.startswith("Tensor")]
    grid = _grid(name, dtype, len(names), seed)
    return [side.astype(bool) if n == "condition" else side for n, side in zip(names, grid, strict=True)]


def _ending_in_one(name: str, arrays: list[Array], numbers: dict[str, Any]) -> list[Array]:
    """The operands turned round so that a result that is judged comes last, where loops over vectors go wrong."""
    places = np.flatnonzero(judged(name, arrays, arrays[0], **numbers))
    return [np.roll(array, -1 - int(places[-1])) for array in arrays] if places.size else arrays


def _check(s: Session, name: str, arrays: list[Array], numbers: dict[str, Any], dtype: str) -> None:
    tensors = [s.tensor(array) for array in arrays]
    positional, keywords = call_on(name, tensors, numbers, dtype).bind(s.build)
    expect_pointwise(s, s.call(name, *positional, **keywords), name, arrays, dtype, **numbers)


def _tell(s: Session, name: str, arrays: list[Array], numbers: dict[str, Any], dtype: str) -> None:
    """All elements in one call; if that fails, the fewest neighbouring ones that fail as well."""

    def body(s: Session, row: tuple[str, str, dict[str, Any]], count: int, start: int) -> None:
        _check(s, name, [array[start : start + count] for array in arrays], numbers, dtype)

    length = len(arrays[0])
    row = (name, dtype, numbers)
    try:
        s.run_example(lambda s, row: body(s, row, length, 0), {"row": row})
    except ConformanceError:
        for count in (1, 8, 64):
            for start in range(0, length, count):
                s.run_example(lambda s, row, n=count, at=start: body(s, row, n, at), {"row": row})
        raise


@requirement("iteration/strided-inputs-give-the-same-values")
def test_hard_values_of_every_dtype(s: Session) -> None:
    def judge(name: str) -> None:
        for dtype in sorted(operators.load()[name].dtypes, key=CORE.index):
            arrays = _operands(name, dtype, s.seed)
            for numbers, joined in _options(name, dtype):
                try:
                    expected(name, [array[:1] for array in arrays], joined, **numbers)
                except LookupError:
                    continue
                _tell(s, name, _ending_in_one(name, arrays, numbers), numbers, joined)

    # The numbers of where.Scalar alone decide the dtype.
    s.each([name for name in operators_with_oracle() if name != "where.Scalar"], judge)
