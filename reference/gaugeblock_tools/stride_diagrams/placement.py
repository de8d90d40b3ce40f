"""Where the elements of a tensor lie in its storage, and what there is to say about that in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gaugeblock.tensor.tensor import Tensor

LETTERS = "ijklmn"
ALL_CELLS = 1 << 12
"""Values are read of storages of at most so many cells."""


@dataclass(frozen=True)
class Placement:
    """The record of a tensor, its storage measured in cells of its item size, and the values of those cells."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    itemsize: int
    nbytes: int
    contiguous: bool
    channels_last: bool
    values: tuple[Any, ...] | None
    readers: dict[int, list[int]] = field(init=False, repr=False, compare=False)
    """Cell -> ordinal numbers of the elements that lie there, in the order of the elements."""

    def __post_init__(self) -> None:
        readers: dict[int, list[int]] = {}
        for ordinal, cell in enumerate(self.places.ravel().tolist()):
            readers.setdefault(cell, []).append(ordinal)
        object.__setattr__(self, "readers", readers)

    @property
    def cells(self) -> int:
        """Whole cells in the storage."""
        return self.nbytes // self.itemsize

    @property
    def numel(self) -> int:
        return int(np.prod(self.sizes, dtype=np.int64))

    @property
    def places(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The cell of every element, int64, of the tensor's sizes."""
        found = np.full(self.sizes, self.offset, np.int64)
        for dim, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            shape = [1] * len(self.sizes)
            shape[dim] = size
            found = found + (np.arange(size, dtype=np.int64) * stride).reshape(shape)
        return found

    @property
    def straight(self) -> bool:
        """Return whether the elements, in their order, go through the storage forwards, each to a cell of its own."""
        return bool((np.diff(self.places.ravel()) > 0).all())

    def index(self, ordinal: int) -> tuple[int, ...]:
        """The index of the element that comes so many after the first one."""
        return tuple(int(part) for part in np.unravel_index(ordinal, self.sizes)) if self.sizes else ()

    @property
    def formula(self) -> str:
        """The cell of element (i, j, ...), in letters."""
        parts = [str(self.offset)] + [
            letter if stride == 1 else f"{stride}*{letter}"
            for letter, stride in zip(letters(len(self.sizes)), self.strides, strict=True)
            if stride
        ]
        return " + ".join(parts if self.offset or len(parts) == 1 else parts[1:])

    @property
    def tells_more(self) -> bool:
        """Return whether the values say something that the numbers of the cells do not."""
        return self.values is not None and any(value != place for place, value in enumerate(self.values))

    def facts(self) -> list[str]:
        """Sentences about the tensor, the plainest first."""
        return [*self._extent(), self._contiguity(), *self._sharing()]

    def _extent(self) -> list[str]:
        if not self.numel:
            return ["no elements: no cell is read, whatever the strides say"]
        covered = len(self.readers)
        gaps = self.cells - covered
        read = f"reads {covered:,} of {count(self.cells, 'cell')}"
        lines = [f"{read}, {count(gaps, 'gap')}" if gaps else f"{read}, no gaps"]
        if self.numel > 1:
            lines.append("walks forwards through the cells" if self.straight else "walks to and fro among the cells")
        if not self.sizes:
            lines.append("no dims: one element, whose index is () and whose cell is the offset")
        if self.nbytes % self.itemsize:
            lines.append(f"the last {count(self.nbytes % self.itemsize, 'byte')} are no whole cell")
        return lines

    def _contiguity(self) -> str:
        if self.contiguous:
            return "contiguous"
        wanted, dim = 1, len(self.sizes) - 1
        while dim >= 0 and (self.sizes[dim] == 1 or self.strides[dim] == wanted):
            wanted *= self.sizes[dim]
            dim -= 1
        found = f"not contiguous: dim {dim} has stride {self.strides[dim]}, row-major wants {wanted}"
        return f"{found}; contiguous as channels_last" if self.channels_last else found

    def _sharing(self) -> list[str]:
        if not self.numel:
            return []
        still = [dim for dim, size in enumerate(self.sizes) if size > 1 and not self.strides[dim]]
        lines = [f"stride 0 in dim {dim}: its {self.sizes[dim]:,} indices read the same cells" for dim in still]
        explained = int(np.prod([self.sizes[dim] for dim in still], dtype=np.int64))
        doubled = [cell for cell, ordinals in sorted(self.readers.items()) if len(ordinals) > explained]
        if doubled:
            lines.append(self._overlap(doubled))
        return lines

    def _overlap(self, doubled: list[int]) -> str:
        first = self.readers[doubled[0]]
        named = ", ".join(bracketed(self.index(ordinal)) for ordinal in first[:3])
        more = f" and {count(len(first) - 3, 'more')}" if len(first) > 3 else ""
        verb = "is" if len(doubled) == 1 else "are"
        return f"overlaps itself: {count(len(doubled), 'cell')} {verb} shared, cell {doubled[0]} by {named}{more}"


def placement(strided: Tensor) -> Placement:
    """The placement of a strided tensor in host memory, as it is now."""
    from gaugeblock import channels_last

    tensor: Any = strided
    nbytes, itemsize = tensor.untyped_storage().nbytes(), tensor.element_size()
    cells = nbytes // itemsize
    values = None
    if 0 < cells <= ALL_CELLS:
        values = tuple(tensor.detach().as_strided((cells,), (1,), 0).tolist())
    return Placement(
        sizes=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        offset=tensor.storage_offset(),
        dtype=str(tensor.dtype).rpartition(".")[2],
        itemsize=itemsize,
        nbytes=nbytes,
        contiguous=tensor.is_contiguous(),
        channels_last=tensor.dim() == 4 and tensor.is_contiguous(memory_format=channels_last),
        values=values,
    )


def letters(dims: int) -> list[str]:
    """A letter for each dim: i, j, ..., or d0, d1, ... where there are more than six."""
    return list(LETTERS[:dims]) if dims <= len(LETTERS) else [f"d{dim}" for dim in range(dims)]


def bracketed(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 cell", "2,000 cells"; "more" has no plural."""
    return f"{number:,} {noun}" if number == 1 or noun == "more" else f"{number:,} {noun}s"


def value_text(value: Any) -> str:
    """A value in at most six characters."""
    if isinstance(value, bool):
        return "T" if value else "F"
    text = f"{value:.3g}" if isinstance(value, float) else f"{value:.2g}" if isinstance(value, complex) else str(value)
    return text if len(text) <= 6 else text[:5] + "~"
