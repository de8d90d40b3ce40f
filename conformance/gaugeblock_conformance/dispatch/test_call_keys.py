"""The set of keys of a call: arguments, thread, fallthroughs, and the walk down the layers."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..backend_dispatch import Exclude, Include, Inference, Kernel, Thread
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .model import LAYERS, entered
from .registry import expect_log, kernels, meta, suite_operators

UNARY = "f(Tensor x) -> Tensor"


def _layers(s: Session, *keys: str) -> None:
    """Kernels of ``f`` that log their key: the one for CPU doubles, the others hand on."""
    for key in keys:
        s.call("register_kernel", "f", key, Kernel(key, "scale", 2) if key == "CPU" else Kernel(key, "below"))


@requirement("dispatch/all-tensor-arguments-count")
def test_lists_and_optionals(s: Session) -> None:
    with suite_operators(s, "f(Tensor[] xs, Tensor? y=None) -> Tensor", "g(Tensor?[] xs) -> Tensor"):
        for operator in ("f", "g"):
            kernels(s, operator, "CPU", "Meta", action="zeros", argument=(1,))
        x, m = s.tensor([1.0]), meta(s, 1)
        for arguments, want in [
            (([x, x],), "CPU"),
            (([x, m],), "Meta"),
            (([m, x],), "Meta"),
            (([m],), "Meta"),
            (([x], m), "Meta"),
            (([x], None), "CPU"),
            (([x], x), "CPU"),
            (([], m), "Meta"),
            (([], x), "CPU"),
        ]:
            s.call("suite::f", *arguments)
            expect_log(s, [want])
        for optional, want in [([x, None], "CPU"), ([None, m], "Meta"), ([m, None, x], "Meta")]:
            s.call("suite::g", optional)
            expect_log(s, [want])


@requirement("dispatch/all-tensor-arguments-count")
@forall(places=hs.lists(hs.booleans(), min_size=1, max_size=6), split=hs.integers(0, 6), keyword=hs.booleans())
def test_any_meta_tensor_decides(s: Session, places: list[bool], split: int, keyword: bool) -> None:
    with suite_operators(s, "f(Tensor first, Tensor[] more, *, Tensor? last=None) -> Tensor"):
        kernels(s, "f", "CPU", "Meta", action="zeros", argument=(1,))
        x, m = s.tensor([1.0]), meta(s, 1)
        first, *more = [m if place else x for place in places]
        last = {"last": more.pop()} if keyword and more else {}
        s.call("suite::f", first, more, **last)
        expect_log(s, ["Meta" if any(places) else "CPU"])


@requirement("dispatch/all-tensor-arguments-count", needs=("sparse_coo",))
def test_sparse_among_dense(s: Session) -> None:
    with suite_operators(s, "f(Tensor x, Tensor y) -> Tensor"):
        kernels(s, "f", "CPU", "SparseCPU", action="zeros", argument=(1,))
        x = s.tensor([1.0])
        sparse = s.call("to_sparse", x)
        s.without_data()
        for arguments, want in [((x, x), "CPU"), ((x, sparse), "SparseCPU"), ((sparse, x), "SparseCPU")]:
            s.call("suite::f", *arguments)
            expect_log(s, [want])


@requirement("dispatch/included-keys-count-for-every-call")
def test_included_key(s: Session) -> None:
    with suite_operators(s, UNARY):
        _layers(s, "Negative", "CPU")
        x = s.tensor([1.0, 2.0])
        s.call("suite::f", x)
        expect_log(s, ["CPU"])
        s.expect_values(s.call("within", (Include("Negative"),), "suite::f", x), [2.0, 4.0])
        expect_log(s, ["Negative", "CPU"])
        s.call("suite::f", x)
        expect_log(s, ["CPU"])


@requirement("dispatch/excluded-keys-count-for-none")
def test_excluded_key(s: Session) -> None:
    with suite_operators(s, UNARY):
        _layers(s, "AutogradCPU", "Negative", "CPU")
        x = s.tensor([1.0, 2.0])
        for contexts, want in [
            ((), ["AutogradCPU", "CPU"]),
            ((Exclude("AutogradCPU"),), ["CPU"]),
            ((Include("Negative"), Exclude("Negative")), ["AutogradCPU", "CPU"]),
            ((Exclude("Negative"), Include("Negative")), ["AutogradCPU", "CPU"]),
            ((Include("Negative"), Exclude("AutogradCPU")), ["Negative", "CPU"]),
            ((), ["AutogradCPU", "CPU"]),
        ]:
            s.expect_values(s.call("within", contexts, "suite::f", x), [2.0, 4.0])
            expect_log(s, want)


@requirement("dispatch/key-state-belongs-to-its-thread")
def test_another_thread(s: Session) -> None:
    with suite_operators(s, UNARY):
        _layers(s, "AutogradCPU", "Negative", "CPU")
        x = s.tensor([1.0, 2.0])
        s.call("within", (Include("Negative"), Exclude("AutogradCPU"), Thread()), "suite::f", x)
        expect_log(s, ["AutogradCPU", "CPU"])
        s.call("within", (Thread(), Include("Negative"), Exclude("AutogradCPU")), "suite::f", x)
        expect_log(s, ["Negative", "CPU"])
        s.call("suite::f", x)
        expect_log(s, ["AutogradCPU", "CPU"])


@requirement("dispatch/fallthrough-keys-are-skipped")
def test_fallthrough(s: Session) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "AutogradCPU", Kernel("AutogradCPU", "keys"))
        s.call("register_kernel", "f", "Negative", Kernel("Negative", "skip"))
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "scale", 2))
        x = s.tensor([1.0, 2.0])
        s.expect_values(s.call("within", (Include("Negative"),), "suite::f", x), [2.0, 4.0])
        expect_log(s, ["AutogradCPU", "AutogradCPU CPU", "CPU"])


@requirement("dispatch/fallthrough-keys-are-skipped")
def test_nothing_but_fallthroughs(s: Session) -> None:
    with suite_operators(s, UNARY):
        for key in ("AutogradCPU", "CPU"):
            s.call("register_kernel", "f", key, Kernel(key, "skip"))
        s.expect_raises(NotImplementedError, "suite::f", s.tensor([1.0]))
        expect_log(s, [])


@requirement("dispatch/layers-are-entered-from-the-top")
def test_all_layers(s: Session) -> None:
    with suite_operators(s, UNARY):
        _layers(s, *reversed(LAYERS[:-1]))
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "first"))
        included = tuple(Include(key) for key in LAYERS if key not in ("CPU", "AutogradCPU"))
        s.call("within", included, "suite::f", s.tensor([1.0, 2.0]))
        expect_log(s, LAYERS)


@requirement(
    "dispatch/layers-are-entered-from-the-top",
    "dispatch/excluded-keys-count-for-none",
    "dispatch/included-keys-count-for-every-call",
    "dispatch/fallthrough-keys-are-skipped",
)
@forall(
    order=hs.permutations(LAYERS),
    skipped=hs.sets(hs.sampled_from(LAYERS[:-1])),
    included=hs.lists(hs.sampled_from(LAYERS[:-1]), unique=True),
    excluded=hs.lists(hs.sampled_from(LAYERS[:-1]), unique=True),
)
def test_any_layers(
    s: Session, order: list[str], skipped: set[str], included: list[str], excluded: list[str]
) -> None:
    with suite_operators(s, UNARY):
        for key in order:
            action = "skip" if key in skipped else "first" if key == "CPU" else "below"
            s.call("register_kernel", "f", key, Kernel(key, action))
        contexts = (*map(Include, included), *map(Exclude, excluded))
        s.call("within", contexts, "suite::f", s.tensor([1.0, 2.0]))
        expect_log(s, entered(set(LAYERS) - skipped, included, excluded))


@requirement("dispatch/inference-mode-enters-no-autograd-kernel")
def test_inference_mode(s: Session) -> None:
    with suite_operators(s, UNARY):
        _layers(s, "AutogradCPU", "CPU")
        x = s.tensor([1.0, 2.0])
        y = s.call("within", (Inference(),), "suite::f", x)
        expect_log(s, ["CPU"])
        s.call("suite::f", y)
        expect_log(s, ["CPU"])
        s.call("suite::f", x)
        expect_log(s, ["AutogradCPU", "CPU"])
