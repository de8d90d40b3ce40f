"""Probes of a PyTorch device: for each capability a few calls that raise an exception if the device lacks it.

A probe tells what is missing and judges no value, so that what is there and wrong is for the requirements to say.
Dtypes, storages and strides have none, since all adapters are checked for them (:mod:`..runner.preflight`).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Probe = Callable[[Any, str], object]
"""Called with torch and the name of a device."""
ELEMENTS = 2**31
"""More elements than an int32 counts."""


def probes(torch: Any, device: str) -> dict[str, Callable[[], object]]:
    """Return for each capability that torch may have on ``device`` the call that tries it there."""
    return {name: partial(_try, probe, torch, device) for name, probe in PROBES.items()}


def probes_of_style(module: Any, make: Callable[[], Any]) -> dict[str, Callable[[], object]]:
    """Return the probes that need no more than a module in torch's style and a matrix, which ``make`` gives."""
    several = _OnMatrix(lambda torch, x: torch.ones(2, device="cpu"))
    actions = {**{name: _ON_MATRIX[name] for name in _OF_STYLE}, "device.multi": several}
    return {name: partial(_try, probe.on, module, make) for name, probe in actions.items()}


def _try(probe: Callable[..., object], *given: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            probe(*given)
        except NotImplementedError as error:
            raise Lacking(str(error).partition(". ")[0]) from error  # what follows is a page on all other devices


class Lacking(Exception):
    """Raised by a probe: what a call gave in place of what it is made for."""


def _need(held: bool, what: str) -> None:
    if not held:
        raise Lacking(what)


def _matrix(torch: Any, device: str, **options: Any) -> Any:
    """A matrix on the device that comes from the host, as operands do."""
    return torch.ones(2, 3, **options).to(device)


class _OnMatrix:
    """A probe that fails where each of several actions on a matrix fails, with what the first of them said."""

    def __init__(self, *actions: Callable[[Any, Any], object]) -> None:
        self._actions = actions

    def __call__(self, torch: Any, device: str) -> None:
        self.on(torch, lambda: _matrix(torch, device))

    def on(self, torch: Any, make: Callable[[], Any]) -> None:
        """Try the actions on matrices that ``make`` gives."""
        said = None
        for action in self._actions:
            try:
                action(torch, make())
                return
            except Exception as error:
                said = said or error
        if said is not None:
            raise said


def _leaf(torch: Any, device: str) -> Any:
    return _matrix(torch, device).requires_grad_()


def _gradient(torch: Any, y: Any, x: Any, graph: bool = False) -> Any:
    """Return the result of torch.autograd.grad, whose first call takes a second."""
    run, seed = torch.autograd.Variable._execution_engine.run_backward, torch.ones_like(y)
    return run((y,), (seed,), graph, graph, (x,), False, accumulate_grad=False)[0]


def _shared_memory(torch: Any, x: Any) -> None:
    _need(not x.is_cuda, "CUDA tensors, for which share_memory_ does nothing")
    _need(x.share_memory_().is_shared(), "a tensor that is not shared")


def _differentiate(torch: Any, device: str) -> None:
    x = _leaf(torch, device)
    _gradient(torch, x * 2, x)


def _graph(torch: Any, device: str) -> None:
    node = (_leaf(torch, device) * 2).grad_fn
    _need(node is not None and node.next_functions[0][0] is not None, "a result without a node of the graph")


def _hooks(torch: Any, device: str) -> None:
    x = _leaf(torch, device)
    seen: list[Any] = []
    x.register_hook(seen.append)
    _gradient(torch, x * 2, x)
    _need(len(seen) == 1, "a hook that was not called")


def _own_rule(torch: Any, device: str) -> None:
    class Twice(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * 2

    x = _leaf(torch, device)
    _gradient(torch, Twice.apply(x), x)


def _forward(torch: Any, device: str) -> None:
    # The calls under torch.autograd.forward_ad, which loads for a second before its first.
    level = torch._C._enter_dual_level()
    try:
        x = _matrix(torch, device)
        dual = torch._VF._make_dual(x, torch.ones_like(x), level=level)
        _need(torch._VF._unpack_dual(dual * dual, level=level)[1] is not None, "a result without a tangent")
    finally:
        torch._C._exit_dual_level(level=level)


def _twice(torch: Any, device: str) -> None:
    x = _leaf(torch, device)
    _gradient(torch, _gradient(torch, x * x, x, graph=True), x)


def _anomaly(torch: Any, device: str) -> None:
    with torch.autograd.detect_anomaly(check_nan=False):
        _differentiate(torch, device)


def _casting(torch: Any, device: str) -> None:
    kind = device.partition(":")[0]
    with torch.autocast(kind, torch.bfloat16):
        found = torch.mm(_matrix(torch, device), _matrix(torch, device).t())
    _need(found.dtype is torch.bfloat16, "a product that was not cast")


def _inference(torch: Any, device: str) -> None:
    with torch.inference_mode():
        x = _matrix(torch, device).clone()
    _need(x.is_inference(), "a tensor of inference mode that does not know it")


def _names_of_keys(torch: Any, tensor: Any) -> set[str]:
    return set(str(torch._C._dispatch_keys(tensor)).partition("(")[2].rstrip(")").split(", "))


def _keys(torch: Any, device: str) -> None:
    own = _names_of_keys(torch, torch.empty(0, device=device))
    _need("Meta" not in own, "tensors with the keys of tensors without data")
    _need(any(name.startswith("Autograd") for name in own), "tensors without a key of autograd")


def _kernels(torch: Any, device: str) -> None:
    """A kernel for the key of the device is entered, and one for the meta device is not."""
    _keys(torch, device)
    library = torch.library.Library("gaugeblock_probe", "FRAGMENT")
    try:
        library.define("f(Tensor x) -> Tensor")
        for kind in (device.partition(":")[0], "meta"):
            library.impl("f", lambda x: x.clone(), torch._C._dispatch_key_for_device(kind))
        made = torch.ops.gaugeblock_probe.f(torch.empty(0, device=device))
        _need(made.device.type != "meta", "a tensor without data")
    finally:
        library._destroy()


def _mode(torch: Any, device: str) -> None:
    seen: list[Any] = []

    class Watching(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # so that torch need not load its compiler, for a second or two

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = _matrix(torch, device)
    with Watching():
        x * 2
    _need(bool(seen), "a mode that saw no call")


def _wrapper(torch: Any, device: str) -> None:
    class Wrapped(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0]

    # A call would load the distributed tensors first, for a second or two: the key says that it would be asked.
    wrapped = torch.Tensor._make_wrapper_subclass(Wrapped, (2,), dtype=torch.float32, device=device)
    _need(wrapped.device.type == device.partition(":")[0], f"a wrapper on {wrapped.device}")
    _need("Python" in _names_of_keys(torch, wrapped), "a wrapper that would not be asked")


def _host_memory(torch: Any, x: Any) -> None:
    _need(x.numpy().ctypes.data == x.data_ptr(), "an array at another address")


def _buffer(torch: Any, x: Any) -> None:
    _host_memory(torch, x)
    _need(torch.frombuffer(bytearray(8), dtype=x.dtype).tolist() == [0, 0], "other elements than the buffer's")


def _released(torch: Any, x: Any) -> None:
    storage = x.untyped_storage()
    gone, reference = type(storage)._expired, storage._weak_ref()
    _need(not gone(reference), "a storage that is gone while a tensor lives in it")
    del x, storage


def _large(torch: Any, device: str) -> None:
    x = torch.empty(ELEMENTS + 1, dtype=torch.uint8, device=device)
    _need(x.numel() > ELEMENTS, "a smaller tensor")
    del x
    getattr(getattr(torch, device.partition(":")[0], None), "empty_cache", lambda: None)()


def _base(torch: Any, x: Any) -> None:
    _need(x.view(3, 2)._base is x, "a view that does not name its base")


def _deterministic(torch: Any, x: Any) -> None:
    # What torch.use_deterministic_algorithms does after it has loaded the compiler, for a second or two.
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    try:
        torch.empty_like(x)
    finally:
        torch._C._set_deterministic_algorithms(False, warn_only=False)


def _method(name: str, *arguments: Any) -> Callable[[Any, Any], object]:
    return lambda torch, x: getattr(x, name)(*arguments)


_ON_MATRIX: Mapping[str, _OnMatrix] = {
    "views": _OnMatrix(lambda torch, x: x.view(3, 2)),
    "views.base": _OnMatrix(_base),
    "views.dtype": _OnMatrix(lambda torch, x: x.view(torch.int32)),
    "strides.out": _OnMatrix(lambda torch, x: (x * 2).stride()),
    "memory_format": _OnMatrix(lambda torch, x: x.view(1, 2, 3, 1).contiguous(memory_format=torch.channels_last)),
    "inplace": _OnMatrix(lambda torch, x: x.mul_(2)),
    "out": _OnMatrix(lambda torch, x: torch.mul(x, x, out=torch.empty_like(x))),
    "version": _OnMatrix(lambda torch, x: x._version),
    "resize": _OnMatrix(lambda torch, x: x.resize_(1)),
    "refcount": _OnMatrix(_released),
    "promote": _OnMatrix(lambda torch, x: x * x.to(torch.int32), lambda torch, x: x * (x != 0)),
    "bitwise": _OnMatrix(lambda torch, x: x.to(torch.int32) & x.to(torch.int32), lambda torch, x: (x != 0) & (x != 0)),
    "index.adv": _OnMatrix(lambda torch, x: x[torch.tensor([0, 1], device=x.device)], lambda torch, x: x[[0, 1]]),
    "index.set": _OnMatrix(lambda torch, x: x.__setitem__(0, 1)),
    "reduce": _OnMatrix(*(_method(name, 0) for name in ("sum", "amax", "argmax", "any", "cumsum"))),
    "sort": _OnMatrix(_method("sort"), _method("argsort"), _method("topk", 1)),
    "matmul": _OnMatrix(
        lambda torch, x: x @ x.view(3, 2), lambda torch, x: torch.bmm(x.view(1, 2, 3), x.view(1, 3, 2))
    ),
    "rng": _OnMatrix(lambda torch, x: x.uniform_()),
    "deterministic": _OnMatrix(_deterministic),
    "threads": _OnMatrix(_host_memory),
    "isa": _OnMatrix(_host_memory),
    "numpy": _OnMatrix(_host_memory),
    "buffer": _OnMatrix(_buffer),
    "dlpack": _OnMatrix(lambda torch, x: torch.from_dlpack(x)),
    "shm": _OnMatrix(_shared_memory),
    "serialize": _OnMatrix(lambda torch, x: copy.deepcopy(x)),
    "meta": _OnMatrix(lambda torch, x: x.to("meta")),
    "device.multi": _OnMatrix(lambda torch, x: _need(x.device.type != "meta", "the meta device, and no second one")),
    "sparse_coo": _OnMatrix(lambda torch, x: x.to_sparse()),
    "blocked": _OnMatrix(lambda torch, x: x.to_mkldnn()),
    "sparse_csr": _OnMatrix(lambda torch, x: x.to_sparse_csr()),
    "quantized": _OnMatrix(lambda torch, x: torch.quantize_per_tensor(x, 0.5, 0, torch.quint8)),
}

PROBES: Mapping[str, Probe] = {
    **_ON_MATRIX,
    "bigmem": _large,
    "schema": lambda torch, device: torch.ops.aten.neg.default._schema,
    "codegen": lambda torch, device: torch.ops.aten.neg.default._schema,
    "requires_grad": _leaf,
    "dispatch.keyset": _keys,
    "dispatch.registry": _kernels,
    "dispatch.kernels": _kernels,
    "dispatch.mode": _mode,
    "wrapper": _wrapper,
    "inference": _inference,
    "vmap": lambda torch, device: torch.func.vmap(torch.neg)(_matrix(torch, device)),
    "autocast": _casting,
    "functionalize": lambda torch, device: torch.func.functionalize(torch.neg)(_matrix(torch, device)),
    "autograd": _differentiate,
    "autograd.graph": _graph,
    "autograd.hooks": _hooks,
    "autograd.func": _own_rule,
    "autograd.fwd": _forward,
    "autograd.double": _twice,
    "autograd.anomaly": _anomaly,
}
"""Capability -> its probe."""
# Probes that call no private API of PyTorch.
_OF_STYLE = tuple(
    """views views.base views.dtype strides.out memory_format inplace out version resize promote bitwise index.adv
    index.set reduce sort matmul rng numpy buffer dlpack serialize meta""".split()
)
