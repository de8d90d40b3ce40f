"""Sums of products over chosen dims: tensordot, products of several matrices in the cheapest order, einsum."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

from ...core.errors import check_ints, type_error, wrap_dims
from ...core.warn import warn_deprecated
from ...tensor.hooks import SPECIAL, UNRECORDED
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import remember
from ..arguments import tensor_argument, tensors_argument
from ..composition import Part, composite
from ..invoke import apply
from ..plan import apart, given_twice


@composite
def tensordot(part: Part, self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum over pairs of dims; the remaining dims of `self`, then those of `other`. A size 1 broadcasts. Raises
    RuntimeError for lists of different lengths, sizes that do not fit and different dtypes."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}"
        )
    if self.meta.dtype is not other.meta.dtype:
        raise RuntimeError(
            f"tensordot(): both inputs should have same dtype, got {self.meta.dtype.name} and "
            f"{other.meta.dtype.name}"
        )
    mine = wrap_dims("tensordot", dims_self, self.meta.ndim)
    theirs = wrap_dims("tensordot", dims_other, other.meta.ndim)
    left, right = self, other
    for a, b in zip(mine, theirs, strict=True):
        sizes = left.meta.sizes[a], right.meta.sizes[b]
        if sizes[0] == sizes[1]:
            continue
        if sizes[1] == 1:
            left = part("sum.dim_IntList", left, (a,), True, dtype=left.meta.dtype)
        elif sizes[0] == 1:
            right = part("sum.dim_IntList", right, (b,), True, dtype=right.meta.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {sizes[0]} in dim {a} and second has size "
                f"{sizes[1]} in dim {b}"
            )
    rows = [d for d in range(left.meta.ndim) if d not in mine]
    columns = [d for d in range(right.meta.ndim) if d not in theirs]
    kept = tuple(left.meta.sizes[d] for d in rows), tuple(right.meta.sizes[d] for d in columns)
    inner = prod(left.meta.sizes[d] for d in mine)
    matrix1 = part("reshape", part("permute", left, (*rows, *mine)), (prod(kept[0]), inner))
    matrix2 = part("reshape", part("permute", right, (*theirs, *columns)), (inner, prod(kept[1])))
    return part("reshape", part("mm", matrix1, matrix2), kept[0] + kept[1])


def public_tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """tensordot over the last dims of `a` and the first of `b` for an int `dims`, else over the two lists in it. Raises
    RuntimeError as the operator and for a number of dims out of range."""
    tensor_argument("tensordot", "a", 1, a), tensor_argument("tensordot", "b", 2, b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()  # type: ignore[attr-defined]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.meta.ndim, b.meta.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        type_error("tensordot", "dims", dims, "int or a pair of lists of ints")
    for given in dims:
        if not isinstance(given, list | tuple):
            type_error("tensordot", "dims", given, "int or a pair of lists of ints")
    mine, theirs = (check_ints("tensordot", "dims", d) for d in dims)
    if out is not None:
        if not isinstance(out, Tensor):
            type_error("tensordot", "out", out, "Tensor")
        return apply("tensordot.out", a, b, mine, theirs, out=out)
    return apply("tensordot", a, b, mine, theirs)


@composite
def linalg_vecdot(part: Part, x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of ``x.conj() * y`` along `dim`, in their common dtype; other dims broadcast. Raises RuntimeError."""
    for tensor in (x, y):
        if tensor.meta.dtype.kind < 2:
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {tensor.meta.dtype.name}"
            )
    return part("sum.dim_IntList", part("mul.Tensor", part("conj", x), y), (dim,))


@composite
def linalg_matmul(part: Part, self: Tensor, other: Tensor) -> Tensor:
    """matmul."""
    return part("matmul", self, other)


@composite
def linalg_diagonal(part: Part, A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """diagonal of the matrices in the last two dims."""
    return part("diagonal", A, offset, dim1, dim2)


def cheapest(sizes: Sequence[int]) -> list[list[int]]:
    """Return where to split each product of matrices i to j, matrix k being sizes[k] by sizes[k + 1]."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _product(part: Part, matrices: Sequence[Tensor], split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = split[i][j]
    return part("mm", _product(part, matrices, split, i, k), _product(part, matrices, split, k + 1, j))


@composite
def linalg_multi_dot(part: Part, tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices; the first and the last may be vectors, whose dim is dropped from the result. Raises
    RuntimeError for fewer than two tensors and for shapes that do not fit."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices = list(tensors)
    result: list[int] = []
    for place, name in ((0, "first"), (-1, "last")):
        ndim = tensors[place].meta.ndim
        if ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 1:
            matrices[place] = part("unsqueeze", tensors[place], 0 if place == 0 else -1)
        else:
            result.append(tensors[place].meta.sizes[place])
    for k, matrix in enumerate(matrices):
        if matrix.meta.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {matrix.meta.ndim}D")
        if matrix.meta.dtype is not matrices[0].meta.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have the same dtype but tensor 0 is {matrices[0].meta.dtype.name} "
                f"and tensor {k} {matrix.meta.dtype.name}"
            )
        if k and matrices[k - 1].meta.sizes[1] != matrix.meta.sizes[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {k - 1} and {k} with shapes {list(tensors[k - 1].meta.sizes)} and "
                f"{list(tensors[k].meta.sizes)} cannot be multiplied"
            )
    sizes = [matrix.meta.sizes[0] for matrix in matrices] + [matrices[-1].meta.sizes[1]]
    found = _product(part, matrices, cheapest(sizes), 0, len(matrices) - 1)
    return part("reshape", found, tuple(result))


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices; of one matrix a copy. Raises RuntimeError unless all have two dims."""
    warn_deprecated("chain_matmul", "linalg.multi_dot")
    for matrix in matrices:
        if matrix.meta.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {matrix.meta.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expecting at least one matrix")
    return apply("clone", matrices[0]) if len(matrices) == 1 else apply("linalg_multi_dot", matrices)


def public_chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """chain_matmul of the arguments."""
    given = tensors_argument("chain_matmul", matrices)
    if out is not None and not isinstance(out, Tensor):
        type_error("chain_matmul", "out", out, "Tensor")
    return apply("chain_matmul", given) if out is None else apply("chain_matmul.out", given, out=out)


Labels = tuple[str, ...]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _tokens(text: str, where: str) -> list[str]:
    """The letters of one operand, with "..." for an ellipsis. Raises RuntimeError for anything else."""
    found = re.findall(r"\.\.\.|.", text.replace(" ", ""))
    for k, token in enumerate(found):
        if token != "..." and token not in LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript {token!r} given at index {k} of {where}, subscripts must be in [a-zA-Z]"
            )
    if found.count("...") > 1:
        raise RuntimeError(f"einsum(): found '...' for {where} for which an ellipsis was already found")
    return found


def parsed(equation: str, ndims: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of the dims of each operand and of the result; dims under an ellipsis are "0", "1", ... from the end.

    Raises RuntimeError for an equation that does not fit operands of `ndims` dims.
    """
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(ndims):
        kind = "fewer" if len(parts) > len(ndims) else "more"
        raise RuntimeError(f"einsum(): {kind} operands were provided than specified in the equation")
    operands, widest = [], 0
    for k, (part, ndim) in enumerate(zip(parts, ndims, strict=True)):
        tokens = _tokens(part, f"operand {k}")
        covered = ndim - len(tokens) + 1 if "..." in tokens else 0
        if covered < 0 or ("..." not in tokens and len(tokens) != ndim):
            more = " and no ellipsis was given" if "..." not in tokens else ""
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(tokens)}) does not match the number of "
                f"dimensions ({ndim}) for operand {k}{more}"
            )
        widest = max(widest, covered)
        operands.append(_spelt(tokens, covered))
    if not arrow:
        letters = [label for labels in operands for label in labels if label in LETTERS]
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return operands, (*_covered(widest), *once)
    output = _spelt(_tokens(right, "the output"), widest)
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if not any(label in labels for labels in operands):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return operands, output


def _covered(count: int) -> Labels:
    return tuple(str(k) for k in reversed(range(count)))


def _spelt(tokens: list[str], covered: int) -> Labels:
    return tuple(label for token in tokens for label in (_covered(covered) if token == "..." else (token,)))


def _without_repeats(part: Part, k: int, tensor: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """The diagonal over dims with one label."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = tensor.meta.sizes[first], tensor.meta.sizes[second]
            if sizes[0] != sizes[1]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {k} but the sizes don't match, {sizes[1]} != "
                    f"{sizes[0]}"
                )
            tensor = part("diagonal", tensor, 0, first, second)
            labels = (*(v for d, v in enumerate(labels) if d not in (first, second)), label)
    return tensor, labels


def _summed(part: Part, tensor: Tensor, labels: Labels, keep: set[str]) -> tuple[Tensor, Labels]:
    gone = tuple(d for d, label in enumerate(labels) if label not in keep)
    if not gone:
        return tensor, labels
    total = part("sum.dim_IntList", tensor, gone, dtype=tensor.meta.dtype)
    return total, tuple(label for label in labels if label in keep)


def _ordered(part: Part, tensor: Tensor, labels: Labels, wanted: Labels) -> Tensor:
    places = tuple([labels.index(label) for label in wanted])
    return tensor if places == tuple(range(len(places))) else part("permute", tensor, places)


def _contracted(
    part: Part, left: tuple[Tensor, Labels], right: tuple[Tensor, Labels], keep: set[str]
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over the labels that are not in `keep`."""
    (a, mine) = _summed(part, *left, keep | set(right[1]))
    (b, theirs) = _summed(part, *right, keep | set(left[1]))
    shared = tuple(label for label in mine if label in theirs and label in keep)
    inner = tuple(label for label in mine if label in theirs and label not in keep)
    rows = tuple(label for label in mine if label not in theirs)
    columns = tuple(label for label in theirs if label not in mine)
    a, b = _ordered(part, a, mine, shared + rows + inner), _ordered(part, b, theirs, shared + inner + columns)
    s, r, n = len(shared), len(rows), len(inner)
    batch, left_sizes, right_sizes = a.meta.sizes[:s], a.meta.sizes[s : s + r], b.meta.sizes[s + n :]
    if not inner:
        a = part("reshape", a, (*a.meta.sizes, *(1,) * len(columns)))
        b = part("reshape", b, (*batch, *(1,) * r, *right_sizes))
        return part("mul.Tensor", a, b), shared + rows + columns
    count, total = prod(batch), prod(a.meta.sizes[s + r :])
    left_matrix = part("reshape", a, (count, prod(left_sizes), total))
    right_matrix = part("reshape", b, (count, total, prod(right_sizes)))
    product = part("bmm", left_matrix, right_matrix)
    return part("reshape", product, batch + left_sizes + right_sizes), shared + rows + columns


def _broadcast(part: Part, operands: list[tuple[Tensor, Labels]]) -> list[tuple[Tensor, Labels]]:
    """The operands with one size for each label. Raises RuntimeError for sizes that do not broadcast."""
    known: dict[str, int] = {}
    for k, (tensor, labels) in enumerate(operands):
        for label, size in zip(labels, tensor.meta.sizes, strict=True):
            seen = known.get(label, 1)
            if size != 1 and seen not in (1, size):
                raise RuntimeError(
                    f"einsum(): operands do not broadcast: subscript {label} has size {seen} before and {size} in "
                    f"operand {k}"
                )
            known[label] = size if seen == 1 else seen
    sizes = [tuple([known[label] for label in labels]) for _, labels in operands]
    return [
        (tensor if tensor.meta.sizes == wanted else part("expand", tensor, wanted), labels)
        for (tensor, labels), wanted in zip(operands, sizes, strict=True)
    ]


@composite
def _einsum(part: Part, equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    """The sum of products that `equation` describes; pairs are contracted from the left or in the order of `path`.
    Raises RuntimeError for an equation that is malformed or does not fit."""
    if not tensors:
        raise RuntimeError("einsum(): at least one operand must be provided")
    given, output = parsed(equation, [tensor.meta.ndim for tensor in tensors])
    operands = [_without_repeats(part, k, t, labels) for k, (t, labels) in enumerate(zip(tensors, given, strict=True))]
    operands = _broadcast(part, operands)
    steps = list(path or (0, 1) * (len(operands) - 1))
    if len(steps) != 2 * (len(operands) - 1):
        raise RuntimeError(
            f"einsum(): expected contraction path given in path parameter to have size {2 * (len(operands) - 1)} but "
            f"got {len(steps)}"
        )
    for i, j in zip(steps[::2], steps[1::2], strict=True):
        if i == j or not (0 <= i < len(operands) and 0 <= j < len(operands)):
            raise RuntimeError(f"einsum(): invalid contraction path ({i}, {j}) for {len(operands)} operands")
        left, right = operands[min(i, j)], operands[max(i, j)]
        rest = [operand for k, operand in enumerate(operands) if k not in (i, j)]
        keep = {*output, *(label for _, labels in rest for label in labels)}
        made = _contracted(part, left, right, keep)
        operands = [made, *rest] if path is None else [*rest, made]
    tensor, labels = _summed(part, *operands[0], set(output))
    return _ordered(part, tensor, labels, output)


def einsum(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
    """As `_einsum`, whose plan for these equation, metas and path is kept in the meta of the first tensor."""
    if SPECIAL or path is not None or any(one.__class__ is not Tensor for one in tensors):
        return _einsum(equation, tensors, path=path)
    if any(one.meta.has_autograd for one in tensors) and (UNRECORDED or given_twice([tensors])):
        return _einsum(equation, tensors)
    plans, key = tensors[0].meta.plans if tensors else {}, ("einsum", equation, *[one.meta for one in tensors])
    call = plans.get(key)
    if call is None:  # to plan takes longer than to run once
        remember(plans, key, _einsum)
        return _einsum(equation, tensors)
    result: Tensor | None = call(tensors) if call and call is not _einsum else None
    if result is not None:
        return result
    planned = _einsum.planned(equation, *apart([tensors], {}))
    remember(plans, key, planned.call or False)
    return planned.result


def public_einsum(*args: Any) -> Tensor:
    """``einsum("ij,jk->ik", a, b)``, or with lists of ints ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    An Ellipsis in a list stands for "...". Raises ValueError for fewer than two arguments, RuntimeError as einsum.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        parts = [_letters(subscripts) for subscripts in args[1::2]]
        equation = ",".join(parts) + ("->" + _letters(args[-1]) if len(args) % 2 else "")
        operands: Sequence[Tensor] = args[: len(args) - len(args) % 2 : 2]
    else:
        equation, operands = args[0], args[1:]
        if not isinstance(equation, str):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    return apply("einsum", equation, tensors_argument("einsum", operands))


def _letters(subscripts: Sequence[Any]) -> str:
    for subscript in subscripts:
        if subscript is not Ellipsis and not (isinstance(subscript, int) and 0 <= subscript < len(LETTERS)):
            raise ValueError(
                f"einsum(): subscript in subscript list is not within the valid range [0, {len(LETTERS)}): "
                f"{subscript!r}"
            )
    return "".join("..." if subscript is Ellipsis else LETTERS[subscript] for subscript in subscripts)
