"""Calls of any operator whose first tensor has about as many elements as asked, as benchmarks want them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod

from gaugeblock_spec import operators
from gaugeblock_spec.samples import Form, TensorFact

from ..strategies.shapes import Sizes
from ..strategies.tensors import CLASSES
from .calls import OperatorCall, forms_of, schema_arguments
from .drawing import Drawing, drawable
from .sizing import Impossible
from .wishes import CODE_LENGTH, LEFT_OUT, Wish

_COUNTS = ("n", "end", "steps", "window_length", "size")
"""Arguments that say how many elements a factory makes."""


def enlarged(operator: str, elements: int, dtype: str = "float32", layout: str = "contiguous") -> OperatorCall | None:
    """Return a call whose first tensor, or the result of a factory, has about ``elements`` elements.

    The first tensor lies in ``layout``, one of ``CLASSES``. Sizes that the samples leave free are nearly equal, ``*``
    stands for a matrix, and what has a default is left out. None is returned where the samples fix all sizes, or leave
    no call of this dtype.
    """
    if not drawable(operator) or dtype not in operators.load()[operator].dtypes:
        return None
    for number, facts in enumerate(forms_of(operator), 1):
        call = _call(operator, number, facts, elements, dtype, layout)
        if call is not None:
            return call
    return None


def _call(operator: str, number: int, facts: Form, elements: int, dtype: str, layout: str) -> OperatorCall | None:
    declared = schema_arguments(operator)
    needed = {a.name for a in declared if a.default is None and not a.optional}
    counts = [a for a in declared if a.name in _COUNTS and a.name in needed]
    without = not any(a.base_type == "Tensor" for a in declared)
    if without and not counts:
        return None
    try:
        call = _Enlarging(operator, number, elements, dtype, layout).call()
    except (Impossible, StopIteration, ZeroDivisionError):
        return None
    if without:
        call = call.with_argument(counts[0].name, (elements,) if counts[0].is_list else elements)
    first = next(iter(call.tensors), None)
    fits = without or (first is not None and elements / 2 <= first.numel <= 2 * elements)
    return call if fits and call.dtype == dtype and needed <= call.arguments.keys() else None


class _Enlarging(Drawing):
    """Draws the first choice of everything that no size depends on."""

    def __init__(self, operator: str, form: int, elements: int, dtype: str, layout: str) -> None:
        declared = schema_arguments(operator)
        arguments = {a.name: LEFT_OUT for a in declared if a.default is not None and a.name != "reduction"}
        first = next((a.name for a in declared if a.base_type == "Tensor"), None)
        if first is not None:
            arguments[first] = CLASSES.index(layout) + 1
        code = bytes(CODE_LENGTH) + Wish(form=form, arguments=arguments).code(operator)
        super().__init__(operator, code, dtype, operator.partition(".")[0].endswith("_"), False, 0, "positive")
        self.elements = elements
        self.side = 0

    def _free(self, fact: TensorFact) -> Sizes:
        if not self.side:
            words = [word.rstrip("~?") for word in fact.dims]
            self.elements = max(1, self.elements // prod(int(word) for word in words if word.isdigit()))
            free = sum(not word.isdigit() for word in words)
            self.side = max(1, int(self.elements ** (1 / max(free, 1)) + 1e-9))
            if "*" not in words and len(set(words)) == free > 1:
                # The last of several different letters takes what rounding leaves.
                self.letters[words[-1]] = max(1, self.elements // self.side ** (free - 1))
            self.beside = self.side ** (free - 1)
        return super()._free(fact)

    def _star(self, others: int) -> Sizes:
        count = max(1, self.elements // self.beside) if others else self.elements
        rows = isqrt(count)
        while count % rows:
            rows -= 1
        return (count,) if others else (rows, count // rows)

    def _joined_sizes(self, whole: Sizes, count: int) -> list[Sizes]:
        return [whole] * count

    def _broadcast_to(self, sizes: list[int]) -> Sizes:
        return tuple(sizes)

    def _missing(self, fact: TensorFact) -> int:
        return 0

    def _is_single(self) -> bool:
        return False

    def _fresh(self) -> int:
        return self.side or max(1, self.elements)

    def _dim(self, more: int = 0) -> int:
        return -1

    def _one_of(self, dtypes: Sequence[str]) -> str:
        return self.dtype if self.dtype in dtypes else dtypes[0]
