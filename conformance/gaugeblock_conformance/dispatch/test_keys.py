"""The keys of tensors and of threads, and their order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType
from ..backend_dispatch import Exclude, Include, Inference, Thread
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .model import ORDER
from .registry import meta

_CPU = {"CPU", "AutogradCPU"}
_OF_CPU = "sorted({{'AutogradCPU', 'CPU'}} & set({}))"
_AUTOGRAD = "any(key.startswith('Autograd') for key in {})"
_STRANGE = "[key for key in {}[1] if not key.startswith('Autocast')]"


def _keys(s: Session, x: Handle) -> tuple[str, ...]:
    found: tuple[str, ...] = s.call("dispatch_keys", x)
    return found


@requirement("dispatch/keys-say-where-and-how-data-is-kept")
@forall(x=st.tensors(empty=True))
def test_keys_do_not_see_sizes_or_values(s: Session, x: TensorCase) -> None:
    plain = _keys(s, s.tensor([1.0]))
    s.expect(_keys(s, s.build(x)), plain, "keys of the tensor")


@requirement("dispatch/keys-say-where-and-how-data-is-kept", needs=("complex",))
def test_conjugate_view_has_a_key(s: Session) -> None:
    x = s.tensor([1.0, 2.0], "complex64")
    s.expect_of_last("Conjugate" in _keys(s, x), False, "Conjugate key of a plain tensor", "'Conjugate' in {}")
    y = s.call("conj", x)
    if s.call("is_conj", y):
        s.expect_of_last("Conjugate" in _keys(s, y), True, "Conjugate key of a conjugate view", "'Conjugate' in {}")


@requirement("dispatch/requires-grad-changes-no-key")
def test_gradient_flag(s: Session) -> None:
    x = s.tensor([1.0])
    before = _keys(s, x)
    s.call("requires_grad_", x)
    s.expect(_keys(s, x), before, "keys after requires_grad_()")
    s.expect_of_last(any(key.startswith("Autograd") for key in before), True, "an Autograd key", _AUTOGRAD)


@requirement("dispatch/meta-tensors-have-keys-of-their-own")
@forall(dims=st.sizes())
def test_meta_keys(s: Session, dims: tuple[int, ...]) -> None:
    here = _keys(s, s.tensor([1.0]))
    s.expect_of_last(sorted(_CPU & set(here)), sorted(_CPU), "keys of a cpu tensor", _OF_CPU)
    found = _keys(s, meta(s, *dims))
    for key in ("Meta", "AutogradMeta", "ADInplaceOrView"):
        s.expect_of_last(key in found, True, f"key {key} of a meta tensor", f"{key!r} in {{}}")
    s.expect_of_last(sorted(_CPU & set(found)), [], "cpu keys of a meta tensor", _OF_CPU)


@requirement("dispatch/sparse-tensors-have-keys-of-their-own")
def test_sparse_keys(s: Session) -> None:
    found = _keys(s, s.call("to_sparse", s.tensor([[0.0, 1.0]])))
    alone = "SparseCPU" in found and "CPU" not in found
    s.expect_of_last(alone, True, "the sparse key alone", "'SparseCPU' in {0} and 'CPU' not in {0}")
    s.expect_of_last("AutogradCPU" in found, True, "the Autograd key of the device", "'AutogradCPU' in {}")


@requirement("dispatch/inference-tensors-have-no-autograd-key")
def test_inference_keys(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    plain = set(_keys(s, x))
    y = s.call("within", (Inference(),), "clone", x)
    found = set(_keys(s, y))
    first, second = (f"set({s.text('dispatch_keys', one)})" for one in (x, y))
    lacks = ["ADInplaceOrView", "AutogradCPU"]
    s.expect(sorted(plain - found), lacks, "keys that an inference tensor lacks", f"sorted({first} - {second})", [x, y])
    s.expect(sorted(found - plain), [], "keys that only an inference tensor has", f"sorted({second} - {first})", [x, y])
    s.expect(_keys(s, s.call("clone", y)), _keys(s, x), "keys of a copy that is made afterwards")


@requirement("dispatch/threads-start-without-autocast")
def test_default_keys_of_a_thread(s: Session) -> None:
    def row(s: Session, contexts: tuple[Any, ...]) -> None:
        included, excluded = s.call("within", contexts, "thread_keys")
        s.expect_of_last(included, ("ADInplaceOrView", "BackendSelect"), "included keys", "{}[0]")
        strange = [key for key in excluded if not key.startswith("Autocast")]
        s.expect_of_last(strange, [], "excluded keys other than Autocast", _STRANGE)
        known = "AutocastCPU" in excluded
        s.expect_of_last(known, True, "AutocastCPU among the excluded keys", "'AutocastCPU' in {}[1]")

    # New threads alone: that of the suite may keep what calls before have left.
    s.table([((Thread(),),), ((Include("Negative"), Exclude("AutogradCPU"), Thread()),)], row)


@requirement("dispatch/functionalities-have-a-fixed-order")
def test_neighbours_in_order(s: Session) -> None:
    def row(s: Session, high: str, low: str) -> None:
        for names in ((low, high), (high, low)):
            s.expect(s.call("highest_key", *names), high, f"the highest of {low} and {high}")

    s.table(list(pairwise(ORDER)), row)


@requirement("dispatch/functionalities-have-a-fixed-order", "dispatch/key-numbers-are-free")
@forall(keys=hs.lists(hs.sampled_from(ORDER), min_size=1, max_size=8, unique=True))
def test_highest_of_any_set(s: Session, keys: list[str]) -> None:
    s.expect(s.call("highest_key", *keys), min(keys, key=ORDER.index), "the highest key")
    s.expect(s.call("highest_key", *reversed(keys)), min(keys, key=ORDER.index), "the highest key")


@requirement("dispatch/keys-say-where-and-how-data-is-kept")
def test_every_dtype_has_the_same_keys(s: Session) -> None:
    plain = _keys(s, s.tensor([1.0]))

    def row(s: Session, dtype: str) -> None:
        s.expect(_keys(s, s.call("zeros", (2,), dtype=DType(dtype))), plain, f"keys of a {dtype} tensor")

    s.table(("bool", "uint8", "int64", "float64", "complex64", "float16"), row)
