"""Calls that share memory with other libraries: those of the capabilities numpy, buffer and dlpack.

Arrays are NumPy arrays. A producer is a capsule, or any object with ``__dlpack__`` and ``__dlpack_device__``. A backend
raises ``Unsupported`` for a call that it does not offer, and the requirements that need the call are skipped by name.
"""

from __future__ import annotations

CALLS: dict[str, str] = {
    # numpy
    "from_numpy": "(array) -> tensor over the array's memory",
    "numpy": "(tensor, force=False) -> array over the tensor's memory",
    "tensor": "(array) -> tensor with memory of its own",
    "as_tensor": "(array, dtype=None) -> tensor over the array's memory, if the dtype allows that",
    "asarray": "(array or list, dtype=None, copy=None) -> tensor, whose memory is the array's as copy says",
    "np_asarray": "(tensor, dtype=None) -> what numpy.asarray gives for a tensor; the dtype is a text",
    "np_array": "(tensor) -> what numpy.array gives for a tensor",
    # buffer
    "frombuffer": "(buffer, dtype=, count=-1, offset=0) -> tensor over the buffer's memory",
    # dlpack
    "__dlpack__": "(tensor, stream=None, max_version=None, dl_device=None, copy=None) -> capsule",
    "__dlpack_device__": "(tensor) -> (device type, index)",
    "from_dlpack": "(producer, copy=None) -> tensor over the producer's memory",
    "np_from_dlpack": "(tensor) -> what numpy.from_dlpack gives for a tensor",
    # any of them
    "warnings_of": "(operator, *args) -> tuple of str: the warnings that the call gives, also those that the library "
    "gives once in a process",
}
"""Operator name -> its arguments and answer."""
