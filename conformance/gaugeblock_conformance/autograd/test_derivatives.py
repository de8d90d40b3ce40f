"""Derivatives of single operators against central differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, Unsupported
from ..budget import QUICK
from ..failure import ConformanceError
from ..forall import forall
from ..gradcheck import GradcheckError, gradcheck, gradgradcheck
from ..gradcheck.operators import FIRST, SECOND, WANTED, check_operator
from ..gradcheck.rows import differentiable
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import WRITABLE
from ..strategies.code import Digits
from ..strategies.tensors import lay_out

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

DOMAINS: dict[str, Draw] = {
    "any": lambda r, n: r.uniform(-2.0, 2.0, n),
    "positive": lambda r, n: r.uniform(0.3, 3.0, n),
    "unit": lambda r, n: r.uniform(-0.9, 0.9, n),
    "large": lambda r, n: r.uniform(1.2, 4.0, n),
    # No two elements nearer than the step of the differences.
    "apart": lambda r, n: (r.permutation(int(np.prod(n))) * 0.37 - 1.1).reshape(n),
    "square": lambda r, n: r.uniform(-1.0, 1.0, (n[-1], n[-1])) + 3 * np.eye(n[-1]),
}
# Operator, the domain of each tensor argument (a tuple), further arguments.
OPERATORS: list[tuple[str, tuple[str, ...], tuple[Any, ...]]] = [
    *[(name, ("any",), ()) for name in """exp sin cos tanh sigmoid sinh cosh erf expm1 square neg atan asinh exp2 sinc
       softplus gelu silu mish log_sigmoid elu celu selu t sum mean""".split()],
    *[(name, ("positive",), ()) for name in """log sqrt rsqrt reciprocal log1p log2 log10 lgamma digamma
       i0 erfc prod std var""".split()],
    *[(name, ("unit",), ()) for name in "asin acos atanh tan erfinv".split()],
    *[(name, ("large",), ()) for name in "acosh log".split()],
    *[(name, ("apart",), ()) for name in "abs relu max min amax amin sort median hardswish".split()],
    *[(name, ("any", "any"), ()) for name in "add.Tensor sub.Tensor mul.Tensor maximum minimum".split()],
    *[(name, ("any", "positive"), ()) for name in "div.Tensor atan2 hypot logaddexp".split()],
    ("pow.Tensor_Tensor", ("positive", "any"), ()), ("pow.Tensor_Scalar", ("positive",), (2.5,)),
    ("pow.Scalar", ("any",), ()), ("addcmul", ("any", "any", "any"), ()), ("addcdiv", ("any", "any", "positive"), ()),
    ("lerp.Tensor", ("any", "any", "unit"), ()), ("clamp", ("apart",), (-1.0, 1.0)),
    ("softmax.int", ("any",), (0,)), ("log_softmax.int", ("any",), (0,)), ("logsumexp", ("any",), ([0],)),
    ("cumsum", ("any",), (0,)), ("cumprod", ("positive",), (0,)), ("logcumsumexp", ("any",), (0,)),
    ("cummax", ("apart",), (0,)), ("topk", ("apart",), (1,)), ("kthvalue", ("apart",), (1,)),
    ("sum.dim_IntList", ("any",), ([0],)), ("mean.dim", ("any",), ([0],)), ("prod.dim_int", ("positive",), (0,)),
    ("var.correction", ("any",), ([0],)), ("linalg_vector_norm", ("any",), (3.0,)), ("flip", ("any",), ([0],)),
    ("roll", ("any",), (1, 0)), ("select.int", ("any",), (0, 0)), ("narrow", ("any",), (0, 0, 1)),
    ("unsqueeze", ("any",), (0,)), ("repeat", ("any",), ((2, 2),)), ("tril", ("any",), ()), ("triu", ("any",), ()),
    ("diagonal", ("any",), ()), ("trace", ("square",), ()), ("mm", ("square", "square"), ()),
    ("linalg_det", ("square",), ()), ("linalg_inv", ("square",), ()), ("linalg_solve", ("square", "square"), ()),
    ("matmul", ("square", "square"), ()), ("outer", ("row", "row"), ()), ("dot", ("row", "row"), ()),
    ("mv", ("square", "row"), ()), ("constant_pad_nd", ("any",), ((1, 1),)), ("nan_to_num", ("any",), ()),
    ("mse_loss", ("any", "any"), ()), ("huber_loss", ("any", "any"), ()), ("leaky_relu", ("apart",), (0.1,)),
    ("cdist", ("any", "large"), ()), ("layer_norm", ("any",), ((3,),)), ("where.self", ("mask", "any", "any"), ()),
    ("masked_fill.Scalar", ("any", "mask"), (2.0,)), ("index_select", ("any",), (0, "index")),
    ("gather", ("any",), (0, "places")), ("__getitem__", ("any",), ("index",)), ("renorm", ("any",), (2, 0, 1.0)),
]  # fmt: skip
SIZES = (2, 3)
# Their second derivative has a step somewhere in the domain.
ONCE = frozenset({"renorm", "hardswish"})


def _draw(domain: str, random: np.random.Generator) -> Array:
    if domain == "mask":
        return random.integers(0, 2, SIZES).astype(bool)
    if domain == "row":
        return random.uniform(-2.0, 2.0, 3)
    return np.asarray(DOMAINS[domain](random, SIZES), dtype=np.float64)


def _operands(s: Session, which: int, seed: int) -> tuple[str, list[Handle], list[Any]]:
    """The operator, its tensors (in drawn layouts, requiring grad where they are floats) and further arguments."""
    operator, domains, further = OPERATORS[which]
    random = np.random.default_rng(seed)
    tensors = []
    for domain in domains:
        array = _draw(domain, random)
        x = _strided(s, array, random) if array.dtype == np.float64 else s.tensor(array)
        if array.dtype == np.float64:
            s.call("requires_grad_", x)
        tensors.append(x)
    made: dict[str, Any] = {"index": [1, 0, 1], "places": [[1, 0, 1], [0, 0, 0]]}
    arguments = [s.tensor(made[a], "int64") if isinstance(a, str) else a for a in further]
    if operator == "pow.Scalar":
        arguments = []
    return operator, tensors, arguments


def _strided(s: Session, array: Array, random: np.random.Generator) -> Handle:
    """A tensor of these elements in a drawn layout."""
    layout = WRITABLE[int(random.integers(len(WRITABLE)))]
    case = lay_out("float64", array.shape, layout, "small", 0, Digits(random.bytes(24)))
    contents = case.contents.copy()
    case.view_of(contents)[...] = array
    literal = tuple(contents.tolist())
    return s.build(replace(case, literal=literal))


def _check(s: Session, which: int, seed: int, check: Callable[..., bool], **options: Any) -> None:
    operator, tensors, arguments = _operands(s, which, seed)
    raw = [a.raw if isinstance(a, Handle) else a for a in arguments]

    def function(*inputs: Any) -> Any:
        if operator == "pow.Scalar":
            return s.backend.call(operator, 1.5, *inputs)
        return s.backend.call(operator, *inputs, *raw)

    s.call(operator, *([1.5] if operator == "pow.Scalar" else []), *tensors, *arguments)
    try:
        s.guard(operator, lambda: _told(lambda: check(s.backend, function, [x.raw for x in tensors], **options)))
    except _Wrong as wrong:
        message = f"{operator}: {wrong}"
        want = "the derivative by central differences"
        raise s.failure(message, want, str(wrong), [], cause=f"{operator} gradient") from None


class _Wrong(BaseException):
    """A derivative that does not agree."""


def _told(check: Callable[[], bool]) -> None:
    try:
        check()
    except GradcheckError as error:
        raise _Wrong(error.message.split("\n")[0]) from None


@requirement("autograd/gradients-agree-with-finite-differences")
@forall(weight=0.5, which=hs.integers(0, len(OPERATORS) - 1), seed=hs.integers(0, 99999))
def test_first_derivatives(s: Session, which: int, seed: int) -> None:
    _check(s, which, seed, gradcheck)


@requirement("autograd/gradients-agree-with-finite-differences", slow=True)
def test_first_derivatives_of_all(s: Session) -> None:
    s.table(_numbered(), lambda s, _, which: _check(s, which, which, gradcheck))


@requirement("autograd/second-gradients-agree-with-finite-differences")
@forall(weight=0.5, which=hs.integers(0, len(OPERATORS) - 1), seed=hs.integers(0, 99999))
def test_second_derivatives(s: Session, which: int, seed: int) -> None:
    _check_second(s, which, seed)


@requirement("autograd/second-gradients-agree-with-finite-differences", slow=True)
def test_second_derivatives_of_all(s: Session) -> None:
    s.table(_numbered(), lambda s, _, which: _check_second(s, which, which))


def _numbered() -> list[tuple[str, int]]:
    return [(operator, which) for which, (operator, *_) in enumerate(OPERATORS)]


def _check_second(s: Session, which: int, seed: int) -> None:
    operator = OPERATORS[which][0]

    def second(*given: Any, **options: Any) -> bool:
        try:
            return gradgradcheck(*given, **options)
        except Unsupported:
            raise
        except NotImplementedError as error:
            raise Unsupported(f"second derivative of {operator}", str(error).partition("\n")[0]) from error

    if operator not in ONCE:
        _check(s, which, seed, second, fast_mode=True)


@requirement("autograd/declared-derivatives-are-there", slow=True)
def test_derivatives_of_all_rows(s: Session) -> None:
    """One real call of each row, and with more effort several, complex ones too."""
    _check_rows(s, FIRST)


@requirement("autograd/declared-derivatives-have-derivatives", slow=True)
def test_second_derivatives_of_all_rows(s: Session) -> None:
    _check_rows(s, SECOND)


def _is_undifferentiable(failure: ConformanceError) -> bool:
    """Return whether the gradient says that it has no derivative, or there is none, which is the first order's matter.
    """
    told = isinstance(failure.__cause__, RuntimeError) and "not implemented" in str(failure.__cause__)
    return told or "no result requires grad" in failure.message


def _check_row(s: Session, operator: str, order: str, wanted: dict[str, int]) -> None:
    try:
        check_operator(s, operator, order, True, wanted)
    except ConformanceError as failure:
        if order == FIRST or not _is_undifferentiable(failure):
            raise


def _check_rows(s: Session, order: str) -> None:
    wanted = {"float64": 1} if s.budget.examples <= QUICK.examples else WANTED
    threads = s.backend.call("get_num_threads") if "threads" in s.capabilities else 0
    try:
        s.each(differentiable(), lambda operator: _check_row(s, operator, order, wanted))
    finally:
        if threads:
            s.backend.call("set_num_threads", threads)
