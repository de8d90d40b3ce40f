"""autocast: which operators cast to what, and for how long."""

from __future__ import annotations

from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, Unsupported
from ..backend_dispatch import Autocast, Thread
from ..forall import forall
from ..requirement import requirement
from ..session import Session

_ON = (Autocast(),)
_HALF = ("bfloat16", "float16")


def _need_the_lists_of_a_cpu(s: Session) -> None:
    """Raise Unsupported on another device: each type of devices has lists of its own."""
    if not s.on_cpu:
        raise Unsupported("within", f"the lists of {s.backend.device} are not those of the cpu")


@requirement("dispatch/autocast-lowers-products", needs=("half", "matmul"))
@forall(dtype=st.dtypes(*_HALF), given=st.dtypes("float32", "bfloat16"))
def test_products(s: Session, dtype: str, given: str) -> None:
    x, row = s.tensor([[1.0, 2.0], [3.0, 4.0]], given), s.tensor([[[1.0, 2.0]], [[3.0, 4.0]]], given)
    mode = (Autocast(dtype),)
    for operator, args in (("mm", (x, x)), ("matmul", (x, x)), ("__matmul__", (x, x)), ("addmm", (x, x, x))):
        s.expect_dtype(s.call("within", mode, operator, *args), dtype)
    s.expect_dtype(s.call("within", mode, "bmm", row, s.call("transpose.int", row, 1, 2)), dtype)
    s.expect_dtype(s.call("within", mode, "linear", x, x), dtype)
    s.expect_dtype(s.call("within", mode, "conv1d", row, row), dtype)
    s.expect_values(s.call("within", mode, "mm", x, x), [[7, 10], [15, 22]], dtype=dtype)


@requirement("dispatch/autocast-widens-what-is-listed", needs=("half",))
def test_widened(s: Session) -> None:
    _need_the_lists_of_a_cpu(s)
    x, low = s.tensor([[1.0, 2.0], [3.0, 4.0]]), s.tensor([[1.0, 2.0], [3.0, 4.0]], "bfloat16")
    rows = [
        ("cat", ([x, low],), "float32"), ("cat", ([low, low],), "bfloat16"), ("stack", ([low, x],), "float32"),
        ("prod", (low,), "float32"), ("mse_loss", (low, low), "float32"), ("linalg_inv", (low,), "float32"),
    ]  # fmt: skip
    for operator, args, want in rows:
        s.expect_dtype(s.call("within", _ON, operator, *args), want)


@requirement("dispatch/autocast-leaves-the-rest", needs=("half", "matmul"))
def test_untouched(s: Session) -> None:
    _need_the_lists_of_a_cpu(s)
    x, low = s.tensor([[1.0, 2.0], [3.0, 4.0]]), s.tensor([[1.0, 2.0], [3.0, 4.0]], "bfloat16")
    wide, whole = s.tensor([[1.0]], "float64"), s.tensor([[1, 2], [3, 4]], "int64")
    rows = [
        ("add.Tensor", (x, x), "float32"), ("mul.Tensor", (low, low), "bfloat16"), ("exp", (low,), "bfloat16"),
        ("sum", (low,), "bfloat16"), ("mm", (wide, wide), "float64"), ("mm", (whole, whole), "int64"),
        ("add.Tensor", (x, low), "float32"),
    ]  # fmt: skip
    for operator, args, want in rows:
        s.expect_dtype(s.call("within", _ON, operator, *args), want)
    out = s.call("empty.memory_format", (2, 2))
    s.expect_values(s.call("within", _ON, "mm", x, x, out=out), [[7, 10], [15, 22]], dtype="float32")


@requirement("dispatch/autocast-ends-with-its-block", needs=("half", "matmul"))
@forall(
    modes=hs.lists(hs.sampled_from([*(Autocast(d) for d in _HALF), Autocast(enabled=False)]), min_size=1, max_size=4)
)
def test_the_innermost_holds(s: Session, modes: list[Autocast]) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    want = modes[-1].dtype if modes[-1].enabled else "float32"
    s.expect_dtype(s.call("within", tuple(modes), "mm", x, x), want)
    s.expect_dtype(s.call("mm", x, x), "float32")


@requirement("dispatch/autocast-belongs-to-its-thread", needs=("half", "matmul"))
def test_another_thread(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.expect_dtype(s.call("within", (Autocast(), Thread()), "mm", x, x), "float32")
    s.expect_dtype(s.call("within", (Thread(), Autocast()), "mm", x, x), "bfloat16")
    s.expect_dtype(s.call("mm", x, x), "float32")


@requirement("dispatch/autocast-casts-what-is-differentiated", needs=("half", "matmul", "requires_grad"))
def test_gradients(s: Session) -> None:
    x, y = s.tensor([[1.0, 2.0]]), s.tensor([[3.0], [4.0]])
    s.call("requires_grad_", x)
    product = s.call("within", _ON, "mm", x, y)
    s.expect_dtype(product, "bfloat16")
    s.call("backward", s.call("to.dtype", s.call("sum", product), DType("float32")))
    s.expect_values(s.call("grad", x), [[3, 4]], dtype="float32")
