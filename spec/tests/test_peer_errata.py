"""What the errata on storage, views, dtypes and iteration say about PyTorch was seen on PyTorch, and is still."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gaugeblock_spec import examples

torch = pytest.importorskip("torch")

SEEN = [
    ("E-01", "flip(arange(3), (0,)).data_ptr() == arange(3).data_ptr()", False),
    ("E-02", "[zeros(2, 3)[1, :]._base is None, zeros(2, 3)[[0, 1]]._base is None]", [False, True]),
    ("E-03", "zeros(2, device='meta').untyped_storage().nbytes()", 8),
    ("E-04", "hasattr(zeros(2).untyped_storage(), 'dtype')", False),
    ("E-05", "zeros(9).as_strided((2, 2), (1, 1)).is_contiguous()", False),
    ("E-05", "zeros(9).as_strided((2, 2), (3, 1)).is_contiguous()", False),
    ("E-05", "zeros(9).as_strided((4,), (0,)).is_contiguous()", False),
    ("E-05", "zeros(9).as_strided((3, 1), (1, 7)).is_contiguous()", True),
    ("E-05", "zeros(9).as_strided((2, 0), (5, 5)).is_contiguous()", True),
    ("E-05", "zeros(9).as_strided((), ()).is_contiguous()", True),
    ("E-06", "[zeros(2, 0, 3).stride(), zeros(()).stride(), zeros(3, 4, 5).stride()]", [(3, 3, 1), (), (20, 5, 1)]),
    ("E-07", "[zeros(2, 2)[1:].stride(), zeros(2, 2)[1:].storage_offset()]", [(2, 1), 2]),
    ("E-08", "hasattr(zeros(2), 'strides')", False),
    ("E-10", "zeros(3, 4).untyped_storage().nbytes()", 48),
    ("E-11", "zeros(9, 9)[0, :5].contiguous().untyped_storage().nbytes()", 324),
    ("E-11", "zeros(9, 9)[0, :5].clone().untyped_storage().nbytes()", 20),
    ("E-11", "(zeros(9, 9)[0, :5] + 0).untyped_storage().nbytes()", 20),
    ("E-21", "all(zeros(n).data_ptr() % 64 == 0 for n in range(1, 50))", True),
    ("E-40", "(lambda x: x.data_ptr() == x.resize_(100000).data_ptr())(ones(3))", False),
    ("E-41", "isinstance(zeros(1).storage(), FloatStorage)", True),
    ("E-43", "zeros(1, 2).expand(2, 2).fill_(1).tolist()", [[1.0, 1.0], [1.0, 1.0]]),
    ("E-45", "arange(2, dtype=int16).untyped_storage().tolist()", [0, 0, 1, 0]),
    ("E-46", "[zeros(2, 3).expand(1, 2, 3).stride(), zeros(()).expand(1).stride()]", [(6, 3, 1), (0,)]),
    ("E-47", "(tensor([1]) + 2**63).tolist()", [1 - 2**63]),
    ("E-49", "tensor([-255], dtype=uint8).item()", 1),
    ("E-49", "tensor(1e300).item()", float("inf")),
    ("E-49", "zeros(1, dtype=float16).fill_(1e10).item()", float("inf")),
    ("E-51", "[tensor([1.0, 3.0]).var(correction=2).item(), tensor([1.0]).var().isnan().item()]", [float("inf"), True]),
    ("S-1", "[(tensor([100], dtype=int8) < 1000).item(), (tensor([1], dtype=uint8) == 257).item()]", [False, True]),
    ("S-2", "(lambda m: mm(m, m, out=m)[0, 0].item())(ones(2, 2)) in (0.0, 2.0)", True),
    ("S-3", "(lambda y: add(y[:2, :2], 1, out=y[1:, 1:]).tolist())(zeros(3, 3))", [[1.0, 1.0], [1.0, 2.0]]),
    ("S-4", "tuple(zeros(2, 3, 4)[0, :, [2, 1]].shape)", (3, 2)),
    ("S-6", "tensor([1], dtype=uint8).any().dtype is uint8", True),
    ("S-6", "str(maximum(tensor(-0.0), tensor(0.0)).item())", "-0.0"),
    ("S-6", "str((tensor(-4.0) % 2).item()), str(numpy.remainder(-4.0, 2.0))", ("-0.0", "0.0")),
    ("S-6", "sign(tensor(nan)).item()", 0.0),
    ("S-9", "zeros(4).as_strided((2, 3), (1, 1)).add_(1).tolist()", [[1.0, 2.0, 2.0], [2.0, 2.0, 1.0]]),
    ("S-12", "tensor([[], [1]]).size() == (2, 0)", True),
    ("S-13", "tensor(1 + 2**-11 + 2**-30, dtype=float64).to(float16).item()", 1.0),
    ("S-14", "(tensor([-7.0] * 16) % tensor([2.0**-126] * 16)).isnan().any().item()", True),
    ("S-15", "str((tensor([-inf, -0.0]) ** 0.5).tolist())", "[nan, -0.0]"),
    ("S-15", "(tensor([-inf, -0.0]) ** tensor(0.5)).tolist()", [float("inf"), 0.0]),
    ("S-16", "tensor([2.0**-20], dtype=bfloat16).erf().item() > 1.1 * tensor([2.0**-20]).erf().item()", True),
    ("S-23", "(lambda x: x.float(memory_format=contiguous_format) is x)(zeros(2, 3).t())", True),
    ("S-56", "fft.ifft(rand(3)).is_conj()", True),
    ("S-57", "special.i0(tensor(inf)).isnan().item(), special.i0(tensor(710.0, dtype=float64)).item()",
     (True, float("inf"))),
    ("S-54", "str((ones(2, dtype=float16) + 1j).dtype)", "torch.complex32"),
    ("S-11", "where(tensor([1], dtype=uint8), tensor([1]), tensor([2])).tolist()", [1]),
    (
        "S-62",
        "torch.stack([tensor(1).bfloat16(), tensor(257, dtype=int32)], out=empty(2, dtype=float64)).tolist()",
        [1.0, 257.0],
    ),
    ("S-78", "list(zeros(1, 1).expand(numpy.int64(2), tensor(3)).shape)", [2, 3]),
    ("S-78", "zeros(2, 3).amax(dim=None).item()", 0.0),
    ("S-78", "add(tensor([1.0]), 2, tensor([3.0])).tolist()", [7.0]),
    ("S-78", "setattr(zeros(1), 'anything', 2)", None),
    ("S-80", "arange(2**63 - 2, 2**63, dtype=float64).numel()", 0),
    ("S-80", "where(tensor([False]), zeros(1).half(), 70000).item()", float("inf")),
    ("S-80", "full((1,), 70000, dtype=float16).item()", float("inf")),
    ("S-79", "asarray(bytearray(b'ab'), dtype=uint8).tolist()", [97, 98]),
    ("S-79", "(tensor([3], dtype=uint16) == tensor([3], dtype=uint16)).tolist()", [True]),
    ("S-79", "(tensor([6], dtype=uint64) & tensor([3], dtype=uint64)).item()", 2),
]

REFUSED = [
    ("E-01", "arange(3)[::-1]", ValueError),
    ("E-01", "from_numpy(numpy.arange(3)[::-1])", ValueError),
    ("E-01", "arange(3).as_strided((3,), (-1,), 2)", RuntimeError),
    ("E-03", "eye(2).to_sparse().untyped_storage()", NotImplementedError),
    ("E-03", "eye(2).to_sparse().data_ptr()", RuntimeError),
    ("E-43", "zeros(1, 2).expand(2, 2).add_(1)", RuntimeError),
    ("E-47", "tensor([1]) + 2**64", OverflowError),
    ("E-47", "tensor([2**63])", ValueError),
    ("E-48", "tensor([1.0]) & tensor([1.0])", NotImplementedError),
    ("E-48", "~tensor([1.0])", TypeError),
    ("E-49", "zeros(1).fill_(1e300)", RuntimeError),
    ("E-50", "zeros(0).max()", RuntimeError),
    ("E-50", "zeros(0).argmax()", IndexError),
    ("E-50", "zeros(0, 3).amax((0, 1))", IndexError),
    ("S-11", "lerp(tensor([1.0]), tensor([1.0]), tensor([2.0], dtype=float64))", RuntimeError),
    ("S-80", "zeros(1) + 2**64", OverflowError),
    ("S-80", "zeros(1) + (-(2**63) - 1)", OverflowError),
    ("S-80", "arange(2**63 - 2, 2**63)", RuntimeError),
    ("S-80", "full((2,), 70000, dtype=float16)", RuntimeError),
    ("S-79", "zeros(1, dtype=uint16) + zeros(1, dtype=uint16)", NotImplementedError),
]

KILLED = [
    ("E-T1", "a = torch.ones(4); a.untyped_storage().resize_(0); a + 1", signal.SIGSEGV),
    ("E-T2", "torch.ones(3).share_memory_().resize_(4)", signal.SIGSEGV),
    ("E-T3", "torch.div(torch.tensor([-(2**63)]), -1, rounding_mode='trunc')", signal.SIGFPE),
    ("E-T4", "import numpy; torch.from_dlpack(numpy.arange(3)[::-1])", signal.SIGABRT),
]


def evaluate(expression: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, examples.scope(torch, expression) | {"numpy": np})


@pytest.mark.parametrize(("erratum", "expression", "value"), SEEN)
def test_value_in_erratum(erratum: str, expression: str, value: object) -> None:
    assert evaluate(expression) == value, erratum


@pytest.mark.parametrize(("erratum", "expression", "error"), REFUSED)
def test_refusal_in_erratum(erratum: str, expression: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(expression)


@pytest.mark.parametrize(("erratum", "program", "number"), KILLED)
def test_death_in_erratum(erratum: str, program: str, number: signal.Signals) -> None:
    child = subprocess.run([sys.executable, "-c", f"import torch; {program}"], capture_output=True, check=False)
    assert child.returncode == -number, erratum
