"""NumPy is loaded when something needs it, not by an import or by calls that run in compiled kernels."""

from __future__ import annotations

import subprocess
import sys

import gaugeblock as gb
import pytest

PROGRAMS = {
    "import": "pass",
    "pointwise": "y = (x + 1).exp()",
    "gradient": "w = x.detach().requires_grad_(); (w * w).sum().backward(); y = w.grad",
    "views": "x[1:, ::2] = 2.0; y = x.t()[0]",
    "numbers": "y = float(x.sum()) + x[0, 0].item()",
    "factories": "y = gb.tensor([1.0, 2.0]), gb.arange(3), gb.randn(2), gb.full((2,), 3.0)",
    "limits": "y = gb.finfo(gb.bfloat16).max, gb.iinfo(gb.int8).min",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_is_not_loaded(name: str) -> None:
    code = f"import sys, gaugeblock as gb; x = gb.ones(3, 4); {PROGRAMS[name]}; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_numpy_is_loaded_by_the_first_array() -> None:
    code = "import sys, gaugeblock as gb; a = gb.arange(3).numpy(); print(type(a) is sys.modules['numpy'].ndarray, a)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True [0 1 2]\n"


@pytest.mark.parametrize(
    ("dtype", "resolution"), [(gb.float16, 0.001), (gb.bfloat16, 0.01), (gb.float32, 1e-06), (gb.float64, 1e-15)]
)
def test_resolution_is_a_power_of_ten(dtype: gb.dtype, resolution: float) -> None:
    assert gb.finfo(dtype).resolution == resolution
