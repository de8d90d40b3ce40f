"""PyTorch's devices: each has the capabilities that work on it, and says of the others why they do not."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import Unsupported, UnsupportedDType
from gaugeblock_conformance.backend_dispatch import Kernel, Mapping
from gaugeblock_conformance.runner.preflight import check_adapter, withdrawn_of

torch = pytest.importorskip("torch")
torch_backend = pytest.importorskip("gaugeblock_conformance.backends.torch")
torch_probes = pytest.importorskip("gaugeblock_conformance.backends.torch_probes")


def test_the_cpu_has_all() -> None:
    backend = torch_backend.TorchBackend("cpu")
    assert backend.probes.keys() <= backend.capabilities
    assert check_adapter(backend) is backend


def test_a_tensor_without_data_has_autograd_and_no_memory() -> None:
    backend = torch_backend.TorchBackend("meta")
    narrowed = check_adapter(backend)
    withdrawn = withdrawn_of(narrowed)
    assert {"autograd", "autograd.graph", "dispatch.mode", "wrapper", "inference"} <= narrowed.capabilities
    assert {"numpy", "isa", "shm", "device.multi", "dispatch.kernels"} <= withdrawn.keys()
    assert withdrawn["numpy"].startswith("tried on meta: TypeError: can't convert meta device type tensor to numpy")
    assert withdrawn["device.multi"] == "tried on meta: Lacking: the meta device, and no second one"


def _broken(*args: Any, **kwargs: Any) -> None:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("capability", "owner", "name"),
    [
        ("autograd", torch.autograd.Variable, "_execution_engine"),
        ("autograd.fwd", torch._VF, "_make_dual"),
        ("inference", torch, "inference_mode"),
        ("dispatch.kernels", torch.library, "Library"),
        ("quantized", torch, "quantize_per_tensor"),
    ],
)
def test_what_is_broken_is_found(monkeypatch: pytest.MonkeyPatch, capability: str, owner: Any, name: str) -> None:
    tried = torch_probes.probes(torch, "cpu")
    tried[capability]()
    monkeypatch.setattr(owner, name, _broken)
    with pytest.raises((RuntimeError, AttributeError), match=r"broken|run_backward"):
        tried[capability]()


def test_probes_leave_nothing_behind() -> None:
    for probe in torch_probes.probes(torch, "cpu").values():
        probe()
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_anomaly_enabled()
    assert not torch.is_inference_mode_enabled()
    assert not hasattr(torch.ops.gaugeblock_probe, "f")


def test_a_device_without_a_kernel_does_not_offer_the_operator() -> None:
    backend = torch_backend.TorchBackend("meta")
    x = backend.from_numpy(np.zeros((2, 2), np.float32))
    with pytest.raises(Unsupported, match="torch has no kernel of aten::geqrf for meta"):
        backend.call("geqrf", x)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'") as raised:
        torch_backend.TorchBackend("cpu").call("gcd", torch.ones(2), torch.ones(2))
    assert not isinstance(raised.value, Unsupported)


def test_devices_are_told_with_their_number() -> None:
    assert [torch_backend.TorchBackend(name).device for name in ("cpu", "meta")] == ["cpu", "meta"]


def test_the_keys_of_the_cpu_stand_for_those_of_the_device() -> None:
    backend = torch_backend.TorchBackend("meta")
    assert {"CPU", "AutogradCPU"} <= set(backend.call("dispatch_keys", torch.empty(2, device="meta")))
    assert {"Meta", "AutogradMeta"} <= set(backend.call("dispatch_keys", torch.empty(2)))
    assert backend.call("highest_key", "CPU", "AutogradCPU") == "AutogradCPU"
    try:
        backend.call("define_operator", "f(Tensor x) -> Tensor")
        backend.call("register_kernel", "f", "CPU", Kernel("own", "first"))
        backend.call("suite::f", torch.empty(2, device="meta"))
        assert backend.call("dispatch_log") == ("own",)
    finally:
        backend.call("release_operators")


def test_snippets_name_the_device() -> None:
    dialect = torch_backend.TorchBackend("meta").dialect
    assert dialect.expression("zeros", ((2,),), {}) == "torch.zeros((2,), device='meta')"
    assert dialect.expression("zeros", ((2,),), {"device": "cpu"}) == "torch.zeros((2,), device='cpu')"
    assert torch_backend.TorchBackend("cpu").dialect.expression("zeros", ((2,),), {}) == "torch.zeros((2,))"


def test_windows_are_made_on_the_device() -> None:
    backend = torch_backend.TorchBackend("meta")
    for operator, arguments in (("hann_window", (3,)), ("tril_indices", (2, 2)), ("fft_fftfreq", (4,))):
        assert backend.call(operator, *arguments).device.type == "meta"


class Contiguous(torch.Tensor):  # type: ignore[misc]
    """Tensors of a device that copies contiguous ones alone to the host, and no complex ones."""

    def cpu(self) -> Any:
        if not self.is_contiguous() or self.is_complex():
            raise RuntimeError("_copy_from: src must be contiguous")
        return self.as_subclass(torch.Tensor)


def test_a_view_is_read_by_its_storage_where_the_device_does_not_copy_it() -> None:
    backend = torch_backend.TorchBackend("meta")
    storage = torch.arange(12.0).as_subclass(Contiguous)
    view = storage.as_strided((2, 3), (1, 3), 2)
    with pytest.raises(RuntimeError, match="src must be contiguous"):
        view.cpu()
    read = backend._on_host(view)
    assert type(read) is torch.Tensor
    assert read.tolist() == [[2.0, 5.0, 8.0], [3.0, 6.0, 9.0]]
    assert backend._on_host(storage).tolist() == list(range(12))


def test_what_cannot_be_read_by_its_storage_raises() -> None:
    backend = torch_backend.TorchBackend("meta")
    with pytest.raises(RuntimeError, match="src must be contiguous"):
        backend._on_host(torch.ones(3, dtype=torch.complex64).as_subclass(Contiguous))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("convolution_overrideable not implemented. You are likely", "the device has no convolution"),
        ("You should register `PrivateUse1HooksInterface`by", "the device has no way to resize storages"),
        ("_share_fd_: only available on CPU", "the device has no memory that processes share"),
        ("a convolution_overrideable not implemented", None),
        ("clEnqueueCopyBuffer", None),
    ],
)
def test_what_an_extension_has_not_registered_is_not_offered(said: str, reason: str | None) -> None:
    assert torch_backend.TorchBackend("meta")._absent(RuntimeError(said)) == reason


def test_a_kernel_without_a_dtype_is_missing_on_other_devices_than_the_cpu() -> None:
    backend, said = torch_backend.TorchBackend(), NotImplementedError("\"addmm_cuda\" not implemented for 'Long'")
    assert backend._missing("mm", said) is None
    backend.device = "cuda:0"
    missing = backend._missing("mm", said)
    assert isinstance(missing, UnsupportedDType) and missing.reason == "no kernel of cuda:0 takes Long"


class _Unprintable(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("nothing is computed")


def test_transforms_are_on_after_failures_to_print_a_tensor() -> None:
    def failure() -> RuntimeError:
        with pytest.raises(RuntimeError, match="nothing is computed") as caught:
            repr(torch.ones(2).as_subclass(_Unprintable))
        return caught.value

    backend = torch_backend.TorchBackend("cpu")
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    failures = [failure(), failure()]
    while failures:
        failures.pop(0)
    gc.collect()
    assert torch._C._dispatch_tls_is_dispatch_key_excluded("FuncTorchDynamicLayerFrontMode")  # as PyTorch leaves it
    levels = (Mapping((0, None)), Mapping((None, 0)))
    assert backend.call("mapped", "mul.Tensor", levels, x, y).tolist() == [[10.0, 20.0], [20.0, 40.0]]
    assert backend.call("functionalized", "mutations", (), x) is x
