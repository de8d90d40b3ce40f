"""What a call may write to and what its result may share, read off the operator's name and schema."""

from __future__ import annotations

from functools import cache

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

FRESH, VIEW, SELF, FREE = "fresh", "view", "self", "free"

# Python-level names that write to their first argument without the underscore of an in-place operator.
_WRITERS = frozenset(
    """__setitem__ __setattr__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __iand__ __ior__
    __ixor__""".split()
)
# In-place operators that change a tensor's metadata or storage, so that bytes and sharing follow no general rule.
_METADATA = frozenset(
    """t_ squeeze_ unsqueeze_ transpose_ swapaxes_ swapdims_ as_strided_ resize_ resize_as_ set_ requires_grad_ detach_
    share_memory_ resize_storage_ in_child_ in_children_""".split()
)
_WITH_STATISTICS = frozenset({"batch_norm", "native_batch_norm", "instance_norm"})
# Schemas that carry no alias annotation, or promise a copy, where upstream documents that self may come back.
_MAY_ALIAS = frozenset("""reshape reshape_as contiguous to flatten real conj conj_physical resolve_conj resolve_neg
    ravel type_as meshgrid broadcast_tensors channel_shuffle native_channel_shuffle cartesian_prod
    pixel_shuffle pixel_unshuffle chain_matmul dropout alpha_dropout feature_dropout feature_alpha_dropout
    atleast_1d atleast_2d atleast_3d einsum unsafe_chunk unsafe_split unsafe_split_with_sizes""".split())


@cache
def writes_first(operator: str) -> bool:
    """Return whether the operator may write to its first argument."""
    base = operator.split(".")[0]
    return operator in _WRITERS or (base.endswith("_") and not base.startswith("__"))


@cache
def written_places(operator: str) -> tuple[int, ...]:
    """Which further positional arguments the operator may write to: those that its schema marks, and running statistics
    of normalizations, which it does not."""
    row = operators.load().get(operator)
    arguments = () if row is None else parse(row.schema).arguments
    marked = [k for k, a in enumerate(arguments) if a.written]
    return (*marked, *((3, 4) if operator in _WITH_STATISTICS else ()))


@cache
def changes_metadata(operator: str) -> bool:
    return operator.split(".")[0] in _METADATA


@cache
def gives_one_tensor(operator: str) -> bool:
    """Return whether the operator's schema has one result, a tensor."""
    row = operators.load().get(operator)
    return row is not None and [result.type for result in parse(row.schema).returns] == ["Tensor"]


@cache
def promise(operator: str) -> str:
    """What the schema promises of the result's storage.

    ``fresh``: shared with no input; ``view``: the first input's; ``self``: the first input itself; ``free``: nothing.
    """
    base = operator.split(".")[0]
    if base in _MAY_ALIAS or changes_metadata(operator):
        return FREE
    if writes_first(operator):
        return SELF if not operator.startswith("__") else FREE
    row = operators.load().get(operator)
    if row is None:
        return FREE
    schema = parse(row.schema)
    if not any(r.type.startswith("Tensor") for r in schema.returns):
        return FREE
    if any(r.alias is not None for r in schema.returns):
        return VIEW
    return FRESH
