"""The table of what is timed: one row per operator, with the call, its layouts and the work that it cannot avoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

SIZES = (16, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SHAPES = {16: (4, 4), 1_000: (25, 40), 10_000: (100, 100), 100_000: (250, 400), 1_000_000: (1000, 1000),
          10_000_000: (2500, 4000)}  # fmt: skip
"""The matrix that a size stands for; any other size is split as evenly as it can be."""
CHANNELS = 16
KERNEL = 3
"""Channels of the image of a convolution, into which and from which it goes, and sides of its windows."""

LAYOUTS = ("contiguous", "row broadcast", "stride 2", "transposed", "int32+float32", "bfloat16")

_ALL = LAYOUTS
_ONE = ("contiguous", "stride 2", "transposed", "bfloat16")


@dataclass(frozen=True)
class Operator:
    """One operator.

    ``call`` is its schema name and ``arguments`` what it is called with: names of operands (``a`` and ``b`` numbers,
    ``c`` numbers in a matrix of the turned shape, ``m`` a mask, ``i`` indices, ``x`` an image and ``w`` the weights of
    its convolution) or constants; ``{rows}`` and ``{columns}`` stand for the sizes of the matrix. ``result`` says how
    large the result is: a row of :data:`RESULTS`. ``statement`` is the call in the syntax of torch-style modules, over
    the module ``xp``; an operator without it is not in the grid. ``smallest`` and ``largest`` bound its sizes.
    """

    name: str
    call: str
    arguments: tuple[object, ...]
    statement: str = ""
    layouts: tuple[str, ...] = _ALL
    family: str = "pointwise"
    result: str = "like"
    smallest: int = 1
    largest: int = 1_000_000_000

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of its tensors, in order."""
        given = {part for given in self.arguments for part in (given if isinstance(given, tuple) else (given,))}
        return tuple(name for name in ("m", "a", "b", "c", "i", "x", "w") if name in given)


_FLAT = _ALL[:1]
OPERATORS = (
    Operator("add", "add.Tensor", ("a", "b"), "a + b"),
    Operator("mul", "mul.Tensor", ("a", "b"), "a * b"),
    Operator("div", "div.Tensor", ("a", "b"), "a / b"),
    Operator("exp", "exp", ("a",), "xp.exp(a)", _ONE, "transcendental"),
    Operator("log", "log", ("a",), "xp.log(a)", _ONE, "transcendental"),
    Operator("tanh", "tanh", ("a",), "xp.tanh(a)", _ONE, "transcendental"),
    Operator("sigmoid", "sigmoid", ("a",), "xp.sigmoid(a)", _ONE, "transcendental"),
    Operator("gelu", "gelu", ("a",), "xp.nn.functional.gelu(a)", _ONE, "transcendental"),
    Operator("where", "where.self", ("m", "a", "b"), "xp.where(m, a, b)"),
    Operator("sum", "sum", ("a",), "a.sum()", _ONE, "reduction", "one"),
    Operator("mean", "mean.dim", ("a", -1), "a.mean(-1)", _ONE, "reduction", "row"),
    Operator("softmax", "softmax.int", ("a", -1), "xp.softmax(a, -1)", _ONE, "normalization"),
    Operator(
        "layer_norm", "layer_norm", ("a", ("{columns}",)), "xp.nn.functional.layer_norm(a, ({columns},))", _ONE,
        "normalization",
    ),
    Operator("cat", "cat", (("a", "b"), 1), "xp.cat((a, b), 1)", _ALL[:1] + _ALL[2:], "copy", "both"),
    Operator("copy", "clone", ("a",), "a.t().contiguous()", ("contiguous", "stride 2", "bfloat16"), "copy"),
    Operator("gather", "gather", ("a", 1, "i"), "xp.gather(a, 1, i)", _ONE, "indexing"),
    Operator("cumsum", "cumsum", ("a", 1), layouts=_FLAT, family="scan"),
    Operator("sort", "sort", ("a", 1), layouts=_FLAT, family="sort", result="sorted", largest=10_000_000),
    Operator("matmul", "matmul", ("a", "c"), layouts=_FLAT, family="product", result="square", largest=1_000_000),
    Operator("conv2d", "conv2d", ("x", "w"), layouts=_FLAT, family="convolution", result="image", smallest=10_000,
             largest=1_000_000),
    Operator("transpose", "t", ("a",), layouts=_FLAT, family="view", result="view"),
    Operator("select", "select.int", ("a", 0, 0), layouts=_FLAT, family="view", result="view"),
    Operator("reshape", "reshape", ("a", ("{columns}", "{rows}")), layouts=_FLAT, family="view", result="view"),
    Operator("unsqueeze", "unsqueeze", ("a", 0), layouts=_FLAT, family="view", result="view"),
    Operator("expand", "expand", ("a", (3, "{rows}", "{columns}")), layouts=_FLAT, family="view", result="view"),
)  # fmt: skip
GRID = tuple(operator for operator in OPERATORS if operator.statement)


def shape_of(size: int) -> tuple[int, int]:
    """The matrix of so many elements that is as square as can be, not taller than wide."""
    if size in SHAPES:
        return SHAPES[size]
    rows = next(n for n in range(math.isqrt(size), 0, -1) if size % n == 0)
    return rows, size // rows


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
        return shape_of(self.size)

    @property
    def image(self) -> tuple[int, int, int, int]:
        """Batch, channels, height and width of an image of about `size` elements."""
        return (1, CHANNELS, *shape_of(self.size // CHANNELS))

    @property
    def dtype(self) -> str:
        """Of the numbers that it computes with."""
        return "bfloat16" if self.layout == "bfloat16" else "float32"

    @property
    def arguments(self) -> tuple[object, ...]:
        """The operator's, with the sizes of the matrix in their place."""
        return tuple(_filled(argument, self.shape) for argument in self.operator.arguments)

    @property
    def statement(self) -> str:
        return self.operator.statement.replace("{columns}", str(self.shape[1]))


def _filled(argument: object, shape: tuple[int, int]) -> object:
    if isinstance(argument, tuple):
        return tuple(_filled(part, shape) for part in argument)
    sizes: dict[object, object] = {"{rows}": shape[0], "{columns}": shape[1]}
    return sizes.get(argument, argument)


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
    chosen = select(operators, "operator", tuple(o.name for o in GRID))
    wanted = select(layouts, "layout", LAYOUTS)
    counts = select(tuple(map(str, sizes)), "size", tuple(map(str, SIZES)))
    return [
        Case(operator, layout, int(size))
        for operator in GRID
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
