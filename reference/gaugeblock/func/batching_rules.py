"""Batching rules: how an operator on examples is one operator on whole batches, whose first dim counts the examples.

A rule gets the operator, its arguments by name with the defaults filled in, the number of the vmap and the number of
examples; it returns the result on the batches. ``NotImplemented`` leaves a call to the loop over the examples. Rules
stand in `RULES` by the operator's name; pointwise operators have one rule for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_spec.schema import Schema

from ..core.dtype import DType, int64
from ..core.promotion import common_dtype
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.keys import map_tensors, tensors_in
from ..dispatch.operator import Operator
from ..tensor.tensor import Tensor
from .batched_tensor import batched, is_batched, lifted, value_of

Given = dict[str, Any]
Rule = Callable[[Operator, Given, int, int], Any]
CHECKED_INPLACE = (
    "vmap: {}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`: it belongs to a batch, and `self` does not. Use the out-of-place operator instead"
)


def send(operator: Operator | str, given: Given) -> Any:
    """Call an operator with arguments by name."""
    found = REGISTRY.find(operator) if isinstance(operator, str) else operator
    schema: Schema = found.schema
    args = [given[argument.name] for argument in schema.positional]
    options = {argument.name: given[argument.name] for argument in schema.keyword_only if argument.name in given}
    return call(found, *args, **options)


def on_values(given: Given, level: int) -> Given:
    """Return the arguments with whole batches in place of examples."""
    return {name: map_tensors(lambda one: value_of(one, level), value) for name, value in given.items()}


def passed(operator: Operator, given: Given, level: int, size: int) -> Any:
    """The operator does to whole batches what it does to examples."""
    return send(operator, on_values(_first_lifted(given, level, size), level))


def _first_lifted(given: Given, level: int, size: int) -> Given:
    """Return the arguments with a batch in the first place, where the example is the same for all."""
    name, first = next(iter(given.items()))
    return given if is_batched(first, level) else {**given, name: lifted(first, level, size)}


def _aligned(value: Any, rank: int, level: int) -> Any:
    """Return the batch of an example with dims of size 1 behind the first, so that it has `rank` others."""
    if not is_batched(value, level):
        return value
    made = value.value
    for _ in range(rank - value.ndim):
        made = made.unsqueeze(1)
    return made


def _zero_dim_dtype(tensors: Sequence[Tensor], level: int) -> DType | None:
    """Return the dtype in which operands meet, if examples without dims would count for more as whole batches."""
    dtypes = {one.meta.dtype for one in tensors}
    if len(dtypes) < 2 or all(one.meta.ndim or not is_batched(one, level) for one in tensors):
        return None
    return common_dtype([(one.meta.dtype, 2 if one.meta.ndim else 1) for one in tensors])


def is_inplace(operator: Operator) -> bool:
    """Return whether an operator writes its first argument and returns it."""
    first = next(iter(operator.schema.positional), None)
    return first is not None and first.written


def check_written(operator: Operator, given: Given, level: int) -> None:
    """RuntimeError for an operator that would write a batch to a tensor that is the same for all examples."""
    for argument in operator.schema.arguments:
        if argument.written and not is_batched(given[argument.name], level):
            raise RuntimeError(CHECKED_INPLACE.format(operator.qualified_name))


def pointwise(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Batches are aligned so that the dims of their examples broadcast."""
    tensors = list(tensors_in(given.values()))
    rank = max(one.meta.ndim for one in tensors)
    written = is_inplace(operator)
    if written:
        rank = max(rank, next(iter(given.values())).meta.ndim)
    common = None if written else _zero_dim_dtype(tensors, level)

    def align(one: Any) -> Any:
        made = _aligned(one, rank, level)
        narrow = common is not None and is_batched(one, level) and not one.meta.ndim and one.meta.dtype.kind > 0
        return made.to(common) if narrow else made

    return send(operator, {name: map_tensors(align, value) for name, value in given.items()})


DIMS = frozenset("dim dims dim0 dim1 dim2 axis0 axis1 source destination dimension start_dim end_dim".split())
"""Arguments that are dims of the example, or lists of them."""
ADDING = frozenset("unsqueeze unsqueeze_copy diag_embed".split())
"""Operators whose dims are those of the result, which has one more."""
SIZES = frozenset("size shape".split())
"""Arguments that are sizes of the result."""


def _behind(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank + 1


def _shifted(value: Any, rank: int) -> Any:
    """Return a dim of the example, or dims, as those of the batch; all dims for None."""
    if isinstance(value, int):
        return _behind(value, rank)
    if value is None:
        return tuple(range(1, rank + 1))
    return tuple([_behind(one, rank) for one in value])


def _with_dims(operator: Operator, given: Given, level: int, rank: int) -> Given:
    values = on_values(given, level)
    for name in DIMS & values.keys():
        values[name] = _shifted(values[name], rank)
    return values


def view(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Dims are counted behind the first one, and sizes get it."""
    rank = next(iter(given.values())).meta.ndim + (operator.name in ADDING)
    values = _with_dims(operator, _first_lifted(given, level, size), level, rank)
    for name in SIZES & values.keys():
        if isinstance(values[name], (tuple, list)):
            values[name] = (size, *values[name])
    if operator.name.startswith("permute"):
        values["dims"] = (0, *values["dims"])
    return send(operator, values)


def along(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Reductions, scans and sorts along dims, which are counted behind the first; an example without dims gets one."""
    name, self = next(iter(given.items()))
    rank = self.meta.ndim
    if not rank:
        given = {**given, name: self.unsqueeze(0)}
    if given.get("dim") is None or given["dim"] == ():
        given = {**given, "dim": tuple(range(max(rank, 1)))}
    found = send(operator, _with_dims(operator, given, level, max(rank, 1)))
    if rank:
        return found
    return map_tensors(lambda one: one.reshape(size) if one.meta.ndim > 1 else one, found)


def whole(name: str, picked: bool = False) -> Rule:
    """Return the rule of a reduction over all elements: operator `name`, along the one dim of flat examples. It gives
    the first of several results if they are `picked`."""

    def reduce(operator: Operator, given: Given, level: int, size: int) -> Any:
        self = value_of(given["self"], level).reshape(size, -1)
        found = REGISTRY.find(name)
        options = {} if given.get("dtype") is None else {"dtype": given["dtype"]}
        result = call(found, self, (1,) if found.schema.positional[1].is_list else 1, **options)
        return result[0] if picked else result

    return reduce


def flat_index(operator: Operator, given: Given, level: int, size: int) -> Any:
    """argmax and argmin: along a dim, or among all elements."""
    if given["dim"] is not None:
        return along(operator, given, level, size)
    if given["keepdim"]:
        return NotImplemented
    value = value_of(given["self"], level).reshape(size, -1)
    return send(operator, {**given, "self": value, "dim": 1})


def joined(operator: Operator, given: Given, level: int, size: int) -> Any:
    """cat and stack: all tensors get the first dim."""
    tensors = given["tensors"]
    rank = max(one.meta.ndim for one in tensors) + (operator.name == "stack")
    dim = _behind(given["dim"], rank)
    return send(operator, {"tensors": [lifted(one, level, size) for one in tensors], "dim": dim})


def expanded(operator: Operator, given: Given, level: int, size: int) -> Any:
    """expand and broadcast_to: the example may get dims in front, behind the first of the batch."""
    sizes = tuple(given["size"])
    value = _aligned(given["self"], len(sizes), level)
    return value.expand(size, *sizes)


def repeated(operator: Operator, given: Given, level: int, size: int) -> Any:
    """repeat: as `expanded`, and the first dim is there once."""
    repeats = tuple(given["repeats"])
    return _aligned(given["self"], len(repeats), level).repeat(1, *repeats)


def square_part(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Operators on the last two dims of an example that has them."""
    return passed(operator, given, level, size) if next(iter(given.values())).meta.ndim > 1 else NotImplemented


def new(operator: Operator, given: Given, level: int, size: int) -> Any:
    """new_zeros and its kin: one new tensor for each example."""
    values = on_values(given, level)
    return send(operator, {**values, "size": (size, *values["size"])})


def picked(operator: Operator, given: Given, level: int, size: int) -> Any:
    """gather and scatter: an index for each element of an example of as many dims."""
    tensors = [value for value in given.values() if isinstance(value, Tensor)]
    rank = tensors[0].meta.ndim
    if not rank or any(one.meta.ndim != rank for one in tensors):
        return NotImplemented
    values = {name: lifted(one, level, size) if isinstance(one, Tensor) else one for name, one in given.items()}
    return send(operator, {**values, "dim": _behind(given["dim"], rank)})


def selected(operator: Operator, given: Given, level: int, size: int) -> Any:
    """index_select with one index for all examples."""
    if is_batched(given["index"], level) or not given["self"].meta.ndim:
        return NotImplemented
    values = on_values(given, level)
    return send(operator, {**values, "dim": _behind(given["dim"], given["self"].meta.ndim)})


def indexed(operator: Operator, given: Given, level: int, size: int) -> Any:
    """x[indices]: an index tensor of the batch's first dim stands beside those of the examples."""
    indices = given["indices"]
    at = [place for place, one in enumerate(indices) if one is not None]
    if any(is_batched(indices[place], level) and indices[place].meta.dtype.kind == 0 for place in at):
        raise RuntimeError("vmap: an index that is a mask picks another number of elements for each example; use where")
    if any(indices[place].meta.dtype.kind == 0 for place in at) or at != list(range(at[0], at[0] + len(at))):
        return NotImplemented
    if not any(is_batched(one, level) for one in indices if one is not None):
        return call(operator, value_of(given["self"], level), [None, *indices])
    if at[0]:
        return NotImplemented
    rank = max(indices[place].meta.ndim for place in at)
    self = lifted(given["self"], level, size)
    numbers = call(REGISTRY.find("arange"), size, dtype=int64, device=self.device)
    first = numbers.reshape(size, *[1] * rank)
    return call(operator, self, [first, *[_aligned(indices[place], rank, level) for place in at]])


def matmul(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Products of vectors and matrices: those of the examples are made matrices, which multiply batch by batch."""
    names = list(given)[:2]
    ranks = [given[name].meta.ndim for name in names]
    if 0 in ranks:
        return NotImplemented
    rows = max(*ranks, 2)
    made = []
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        one = given[name]
        if rank == 1:
            one = one.unsqueeze(0 if place == 0 else 1)
        made.append(_aligned(one, rows, level))
    found = call(REGISTRY.find("matmul"), *made)
    if ranks[1] == 1:
        found = found.squeeze(-1)
    if ranks[0] == 1:
        found = found.squeeze(-1 if ranks[1] == 1 else -2)
    return found


def added_product(product: str, *factors: str) -> Rule:
    """Return the rule of addmm and its kin: the product of `factors`, scaled, and the scaled `self`."""

    def add(operator: Operator, given: Given, level: int, size: int) -> Any:
        found = call(REGISTRY.find(product), *[given[name] for name in factors])
        alpha, beta = given.get("alpha", 1), given.get("beta", 1)
        scaled = found if alpha == 1 else found * alpha
        return value_of(scaled if beta == 0 else scaled + (given["self"] if beta == 1 else given["self"] * beta), level)

    return add


def convolved(operator: Operator, given: Given, level: int, size: int) -> Any:
    """convolution with one weight for all examples: those of all batches are the examples of one."""
    if is_batched(given["weight"], level) or is_batched(given["bias"], level):
        return NotImplemented
    value = value_of(given["input"], level)
    found = send(operator, {**given, "input": value.reshape(size * value.shape[1], *value.shape[2:])})
    return found.reshape(size, -1, *found.shape[1:])


def embedded(operator: Operator, given: Given, level: int, size: int) -> Any:
    """embedding with one weight for all examples."""
    return NotImplemented if is_batched(given["weight"], level) else passed(operator, given, level, size)


def transposed(operator: Operator, given: Given, level: int, size: int) -> Any:
    """t: the two dims of an example change places; one dim, or none, stays."""
    value = value_of(given["self"], level)
    if given["self"].meta.ndim > 2:
        return NotImplemented
    return value.transpose(1, 2) if given["self"].meta.ndim == 2 else value.view_as(value)


def squeezed(operator: Operator, given: Given, level: int, size: int) -> Any:
    """squeeze: all dims of size 1 of an example, and not the first of the batch."""
    sizes = given["self"].meta.sizes
    value = value_of(given["self"], level)
    return value.squeeze(tuple([place + 1 for place, one in enumerate(sizes) if one == 1]))


def like_other(operator: Operator, given: Given, level: int, size: int) -> Any:
    """view_as, reshape_as and expand_as: as with the sizes of the other tensor."""
    sizes = tuple(given["other"].meta.sizes)
    name = operator.name.removesuffix("_as")
    return lifted(getattr(given["self"], name)(sizes), level, size)


def strided(operator: Operator, given: Given, level: int, size: int) -> Any:
    """as_strided: the strides of an example are those of its batch, behind the first."""
    value = given["self"].value if is_batched(given["self"], level) else lifted(given["self"], level, size)
    offset = value.storage_offset() + (given["storage_offset"] or 0)
    return value.as_strided((size, *given["size"]), (value.stride(0), *given["stride"]), offset)


def in_parts(compose: Callable[[Given], Any]) -> Rule:
    """Return the rule of an operator that is made of others, which come to their own rules."""

    def decompose(operator: Operator, given: Given, level: int, size: int) -> Any:
        found = compose(given)
        return found if found is NotImplemented else map_tensors(lambda one: lifted(one, level, size), found)

    return decompose


def split_along(*dims: int) -> Rule:
    """Return the rule of hsplit and its kin: tensor_split along a dim, by the number of dims, of which the last counts
    for more of them; -1 for none."""

    def split(given: Given) -> Any:
        self, parts = list(given.values())[:2]
        dim = dims[min(self.meta.ndim, len(dims)) - 1] if self.meta.ndim else -1
        return NotImplemented if dim < 0 else self.tensor_split(parts, dim)

    return in_parts(split)


def _masked(given: Given) -> Any:
    self, mask, value = given["self"], given["mask"], given["value"]
    return call(REGISTRY.find("where.self"), mask, value.to(self.dtype), self)


def _classes(given: Given) -> Any:
    """one_hot of a given number of classes: which of them an element is."""
    self, count = given["self"], given["num_classes"]
    if count <= 0:
        raise RuntimeError("vmap: one_hot needs num_classes, since the largest class depends on the values")
    return (self.unsqueeze(-1) == call(REGISTRY.find("arange"), count, dtype=int64, device=self.device)).to(int64)


def filled(operator: Operator, given: Given, level: int, size: int) -> Any:
    """fill_ of a tensor: a value for each example is copied."""
    if not is_batched(given["value"], level):
        return passed(operator, given, level, size)
    copied = REGISTRY.find("copy_")
    return pointwise(copied, {"self": given["self"], "src": given["value"], "non_blocking": False}, level, size)


def masked(operator: Operator, given: Given, level: int, size: int) -> Any:
    """masked_fill of a tensor: a value for each example is chosen by where."""
    if not is_batched(given["value"], level):
        return pointwise(operator, given, level, size)
    return NotImplemented if is_inplace(operator) else in_parts(_masked)(operator, given, level, size)


def loss(operator: Operator, given: Given, level: int, size: int) -> Any:
    """Losses of pairs of elements: those of an example are joined as the reduction says, 1 for mean and 2 for sum."""
    each = {
        name: batched(lifted(one, level, size), level) if isinstance(one, Tensor) and place < 2 else one
        for place, (name, one) in enumerate(given.items())
    }
    found = pointwise(operator, {**each, "reduction": 0}, level, size)
    if not given["reduction"]:
        return found
    flat = found.reshape(size, -1)
    return flat.mean(1) if given["reduction"] == 1 else flat.sum(1)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        """clone detach alias alias_copy detach_copy contiguous to.dtype to.device to.dtype_layout to.other type_as
        zeros_like ones_like empty_like full_like real imag conj resolve_conj resolve_neg positive view.dtype
        view_as_real view_as_complex view_as_real_copy view_as_complex_copy view_copy.dtype zero_ fill_.Scalar
        fill.Scalar conj_physical_ detach_ requires_grad_ isreal""".split(),
        passed,
    ),
    **dict.fromkeys(
        """permute transpose.int squeeze.dim squeeze.dims unsqueeze movedim.int movedim.intlist swapaxes select.int
        slice.Tensor narrow split.Tensor split.sizes split_with_sizes chunk tensor_split.sections tensor_split.indices
        unbind.int diagonal unfold unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes view reshape
        flatten.using_ints unflatten.int diag_embed flip permute_copy transpose_copy.int squeeze_copy.dim
        squeeze_copy.dims unsqueeze_copy select_copy.int slice_copy.Tensor narrow_copy split_copy.Tensor
        split_with_sizes_copy unbind_copy.int diagonal_copy unfold_copy view_copy""".split(),
        view,
    ),
    **dict.fromkeys(
        """sum.dim_IntList nansum prod.dim_int any.dim any.dims all.dim all.dims count_nonzero.dim_IntList mean.dim amax
        amin max.dim min.dim median.dim nanmedian.dim logsumexp softmax.int log_softmax.int cumsum cumprod cummax cummin
        logcumsumexp sort sort.stable topk kthvalue mode var.dim var.correction std.dim std.correction var_mean.dim
        var_mean.correction std_mean.dim std_mean.correction linalg_vector_norm norm.ScalarOpt_dim
        norm.ScalarOpt_dim_dtype cumsum_ cumprod_""".split(),
        along,
    ),
    "sum": whole("sum.dim_IntList"), "mean": whole("mean.dim"), "prod": whole("prod.dim_int"), "any": whole("any.dim"),
    "all": whole("all.dim"), "median": whole("median.dim", picked=True),
    "nanmedian": whole("nanmedian.dim", picked=True), "max": whole("amax"), "min": whole("amin"),
    "argmax": flat_index, "argmin": flat_index, "cat": joined, "stack": joined, "expand": expanded,
    "broadcast_to": expanded, "expand_copy": expanded, "repeat": repeated,
    **dict.fromkeys(
        """tril triu adjoint tril_ triu_ det inverse matrix_exp pinverse linalg_det linalg_inv linalg_inv_ex
        linalg_cholesky_ex linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_svd linalg_svdvals linalg_qr
        linalg_slogdet linalg_matrix_exp linalg_lu_factor linalg_lu_factor_ex linalg_pinv linalg_matrix_rank""".split(),
        square_part,
    ),
    **dict.fromkeys("hsplit.int hsplit.array".split(), split_along(0, 1)),
    **dict.fromkeys("vsplit.int vsplit.array".split(), split_along(-1, 0)),
    **dict.fromkeys("dsplit.int dsplit.array".split(), split_along(-1, -1, 2)),
    "as_strided": strided, "one_hot": in_parts(_classes),
    "as_strided_copy": in_parts(
        lambda given: given["self"].as_strided(given["size"], given["stride"], given["storage_offset"]).clone()
    ),
    "ravel": in_parts(lambda given: given["self"].reshape(-1)),
    "fliplr": in_parts(lambda given: given["self"].flip(1)), "flipud": in_parts(lambda given: given["self"].flip(0)),
    "trace": in_parts(lambda given: given["self"].diagonal().sum()),
    "fill_.Tensor": filled, "fill.Tensor": in_parts(lambda given: given["self"].clone().copy_(given["value"])),
    "masked_fill.Tensor": masked, "masked_fill_.Tensor": masked,
    **dict.fromkeys(
        """mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy
        binary_cross_entropy_with_logits""".split(),
        loss,
    ),
    **dict.fromkeys("new_zeros new_ones new_empty new_full".split(), new),
    **dict.fromkeys("""gather scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add
        scatter_reduce.two scatter_.src scatter_.value scatter_add_ scatter_reduce_.two""".split(), picked),
    "t": transposed, "squeeze": squeezed, "view_as": like_other, "reshape_as": like_other, "expand_as": like_other,
    "index_select": selected, "index.Tensor": indexed, "embedding": embedded, "convolution": convolved,
    **dict.fromkeys("matmul mm bmm mv dot".split(), matmul),
    "addmm": added_product("mm", "mat1", "mat2"), "addmv": added_product("mv", "mat", "vec"),
    "baddbmm": added_product("bmm", "batch1", "batch2"),
    **dict.fromkeys(
        """relu6 hardtanh elu celu selu leaky_relu gelu silu mish softplus softshrink hardshrink hardsigmoid hardswish
        log_sigmoid threshold masked_fill.Scalar relu6_ hardtanh_ elu_ celu_ selu_ leaky_relu_ gelu_
        silu_ mish_ hardsigmoid_ hardswish_ threshold_ masked_fill_.Scalar copy_""".split(),
        pointwise,
    ),
}  # fmt: skip
"""Operator -> its rule."""
