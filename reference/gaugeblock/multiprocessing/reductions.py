"""How tensors and storages are pickled for another process: by a handle of their segment."""

from __future__ import annotations

from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ..core.device import cpu
from ..memory.segment import Segment, open_segment
from ..memory.storage import Storage
from ..tensor.changing import UnbackedTensor
from ..tensor.tensor import Tensor
from . import sharing
from .channel import Passing, escort_of, is_sending
from .client import client_of


def reduce_storage(storage: Storage) -> Any:
    """Return how a storage is sent: by handle, after it has been shared; with its bytes if it has none on the CPU.

    A descriptor travels in the message or to the new process, so that the segment lives while that is under way. Where
    there is no way for descriptors, such as in the bytes of ``ForkingPickler.dumps``, a name travels, with a ticket
    that lives until the name is taken or this process ends: such bytes can be loaded once.
    """
    if storage.device is not cpu or not storage.nbytes:
        return storage.__reduce__()
    segment = sharing.share_storage(storage)
    nbytes = storage.nbytes
    if segment.descriptor is not None and (is_sending() or get_spawning_popen() is not None):
        return storage_behind, (Passing(segment.descriptor, storage), nbytes)
    if segment.descriptor is None and is_sending():
        hold = sharing.name_of(segment)
        return storage_called, (hold.address, hold.name, nbytes, escort_of(hold))
    return storage_with_ticket, (*_ticket(segment), nbytes, segment.descriptor is not None)


def _ticket(segment: Segment) -> tuple[bytes, bytes]:
    """Return the manager and the name that another process may take once."""
    hold = sharing.name_of(segment)
    client_of(hold.address).give_ticket(hold.name)
    return hold.address, hold.name


def storage_behind(descriptor: int, nbytes: int) -> Storage:
    """Return the storage over a segment whose descriptor has arrived."""
    return open_segment(descriptor, nbytes)


def storage_called(address: bytes, name: bytes, nbytes: int, escort: object) -> Storage:
    """Return the storage over a segment by its name, which `escort` holds until the message has been loaded."""
    descriptor, hold = client_of(address).open(name)
    return open_segment(descriptor, nbytes, hold)


def storage_with_ticket(address: bytes, name: bytes, nbytes: int, keep_descriptor: bool) -> Storage:
    """Return the storage over a segment by a name that was given out with a ticket."""
    descriptor, hold = client_of(address).open(name, ticket=True)
    if not keep_descriptor:
        return open_segment(descriptor, nbytes, hold)
    storage = open_segment(descriptor, nbytes)
    hold.release()
    return storage


def reduce_tensor(tensor: Tensor) -> Any:
    """Return how a tensor is sent: its storage by handle, and sizes, strides and offset over it."""
    meta = tensor.meta
    if meta.device is cpu and tensor.storage_impl.nbytes:
        sharing.share_memory_(tensor)
    return tensor.__reduce_ex__(2)


for _kind, _reduce in ((Storage, reduce_storage), (Tensor, reduce_tensor), (UnbackedTensor, reduce_tensor)):
    ForkingPickler.register(_kind, _reduce)
