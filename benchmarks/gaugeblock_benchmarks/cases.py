"""The table of what is timed: one row per operator, with the call, its statement in torch's syntax and its layouts."""

from __future__ import annotations

from dataclasses import dataclass

SIZES = (16, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SHAPES = {16: (4, 4), 1_000: (25, 40), 10_000: (100, 100), 100_000: (250, 400), 1_000_000: (1000, 1000),
          10_000_000: (2500, 4000)}  # fmt: skip
"""The matrix that each size stands for."""

LAYOUTS = ("contiguous", "row broadcast", "stride 2", "transposed", "int32+float32", "bfloat16")

_ALL = LAYOUTS
_ONE = ("contiguous", "stride 2", "transposed", "bfloat16")


@dataclass(frozen=True)
class Operator:
    """One operator of the grid.

    ``call`` is its schema name and ``arguments`` what it is called with: names of operands (``a`` and ``b`` numbers,
    ``m`` a mask, ``i`` indices) or constants; ``{columns}`` in ``statement`` stands for the size of the last dim.
    ``statement`` is the same in the syntax of torch-style modules, over the module ``xp``.
    """

    name: str
    call: str
    arguments: tuple[object, ...]
    statement: str
    layouts: tuple[str, ...] = _ALL

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its tensors, in order."""
        given = {part for given in self.arguments for part in (given if isinstance(given, tuple) else (given,))}
        return tuple(name for name in ("m", "a", "b", "i") if name in given)


OPERATORS = (
    Operator("add", "add.Tensor", ("a", "b"), "a + b"),
    Operator("mul", "mul.Tensor", ("a", "b"), "a * b"),
    Operator("div", "div.Tensor", ("a", "b"), "a / b"),
    Operator("exp", "exp", ("a",), "xp.exp(a)", _ONE),
    Operator("log", "log", ("a",), "xp.log(a)", _ONE),
    Operator("tanh", "tanh", ("a",), "xp.tanh(a)", _ONE),
    Operator("sigmoid", "sigmoid", ("a",), "xp.sigmoid(a)", _ONE),
    Operator("gelu", "gelu", ("a",), "xp.nn.functional.gelu(a)", _ONE),
    Operator("where", "where.self", ("m", "a", "b"), "xp.where(m, a, b)"),
    Operator("sum", "sum", ("a",), "a.sum()", _ONE),
    Operator("mean", "mean.dim", ("a", -1), "a.mean(-1)", _ONE),
    Operator("softmax", "softmax.int", ("a", -1), "xp.softmax(a, -1)", _ONE),
    Operator(
        "layer_norm", "layer_norm", ("a", ("{columns}",)), "xp.nn.functional.layer_norm(a, ({columns},))", _ONE
    ),
    Operator("cat", "cat", (("a", "b"), 1), "xp.cat((a, b), 1)", _ALL[:1] + _ALL[2:]),
    Operator("copy", "clone", ("a",), "a.t().contiguous()", ("contiguous", "stride 2", "bfloat16")),
    Operator("gather", "gather", ("a", 1, "i"), "xp.gather(a, 1, i)", _ONE),
)


@dataclass(frozen=True)
class Case:
    """One cell: an operator on operands of one layout with `size` elements."""

    operator: Operator
    layout: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.operator.name}, {self.layout}, {self.size:,}"

    @property
    def shape(self) -> tuple[int, int]:
        return SHAPES[self.size]

    @property
    def statement(self) -> str:
        return self.operator.statement.replace("{columns}", str(self.shape[1]))


def select(names: tuple[str, ...], what: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """`known` or the part of it that `names` lists; ValueError for a name outside it."""
    for name in names:
        if name not in known:
            raise ValueError(f"no {what} {name!r}; known: {', '.join(known)}")
    return tuple(name for name in known if name in names) if names else known


def cases(
    operators: tuple[str, ...] = (), layouts: tuple[str, ...] = (), sizes: tuple[int, ...] = ()
) -> list[Case]:
    """The cells of the grid, all or those named. Raises ValueError for an unknown name."""
    chosen = select(operators, "operator", tuple(o.name for o in OPERATORS))
    wanted = select(layouts, "layout", LAYOUTS)
    counts = select(tuple(map(str, sizes)), "size", tuple(map(str, SIZES)))
    return [
        Case(operator, layout, int(size))
        for operator in OPERATORS
        if operator.name in chosen
        for layout in operator.layouts
        if layout in wanted
        for size in counts
    ]


@dataclass(frozen=True)
class Small:
    """A call on a few elements that has to be at least as fast as the peer's: what overhead is left.

    ``limit`` is the greatest ratio that the project asks of its own engine.
    """

    area: str
    name: str
    statement: str
    limit: float


SMALL_SETUP = "a = xp.arange(16, dtype=xp.float32) / 8; b = a + 1; m = a.reshape(4, 4); r = m[:1]"
SMALL = (
    Small("iteration", "a + b, 16 float32", "a + b", 1.0),
    Small("iteration", "exp(a), 16 float32", "a.exp()", 1.0),
    Small("iteration", "a.sum(), 16 float32", "a.sum()", 1.0),
    Small("iteration", "a + 1.0, 16 float32", "a + 1.0", 1.0),
    Small("views", "m.t(), 4 x 4", "m.t()", 1.0),
    Small("views", "a[2:10]", "a[2:10]", 1.0),
    Small("views", "r.expand(8, 4)", "r.expand(8, 4)", 1.0),
)
