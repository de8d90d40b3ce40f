"""A device of PyTorch's in memory of NumPy's: ``torch.ones(2, 3).to("ndarray")``.

It takes PyTorch's key for devices from outside, PrivateUse1, and is written in Python alone. ``import torch`` calls
:func:`register` by itself where this package is installed, for its entry point in the group ``torch.backends``.
"""

from __future__ import annotations

from functools import cache

NAME = "ndarray"


@cache
def register() -> None:
    """Name the device and give PyTorch its kernels; a second call does nothing."""
    from torch.utils import backend_registration

    backend_registration._setup_privateuseone_for_python_backend(NAME)

    from . import memory, operators

    memory.register()
    operators.register()
