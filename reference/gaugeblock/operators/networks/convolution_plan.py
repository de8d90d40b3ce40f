"""Plans of convolutions over planes: along each dim first, then the tables that the kernels read.

Along a dim, an element of the input stands `before` places further on in a padded line. A plane keeps every `stride`-th
place of the line, phase after phase, for the phases that windows reach. A part of the result is every `step`-th of its
elements, from `start` on; its windows are adjacent places of the line, moved by an offset for each place of the window.
Where the stride is larger than the window, a transposed convolution has elements that no part covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from ...core import lazy_numpy as np
from ...core.dtype import DType
from ...kernels import convolution as forward
from ...kernels import convolution_gradient as backward
from ...kernels.planes import FLAG, Planes, lanes

Ints = tuple[int, ...]
Array: TypeAlias = "np.ndarray[Any, Any]"
BLOCK_BYTES = 1 << 17
"""Planes of a block of samples that stay in the cache."""
WEIGHT_BYTES = 5 << 15
"""Weights that stay in the cache while all windows of a block pass."""
ROWS_BYTES = 3 << 13
"""Rows of windows that stay in the nearest cache while a tile of a gradient adds them up."""
FEW_BLOCKS = 4
"""Blocks of samples that a batch has at least, for threads to share."""


class Part(NamedTuple):
    """Of a dim: a part of the result, and (place in the window, phase, offset of the line) for each place."""

    start: int
    step: int
    windows: int
    places: tuple[Ints, ...]


class Line(NamedTuple):
    """A dim of planes; `phases` ascend, `length` is that of each, `covered` says that parts cover the result."""

    stride: int
    phases: Ints
    before: int
    length: int
    parts: tuple[Part, ...]
    covered: bool = True

    def rows(self, size: int) -> Array:
        """Return (number of the phase, offset in it, element of the input) of the elements that windows reach."""
        element, phases = np.arange(size), np.array(self.phases)
        place = element + self.before
        number = np.minimum(np.searchsorted(phases, place % self.stride), len(phases) - 1)
        reached = (phases[number] == place % self.stride) & (place // self.stride < self.length)
        found: Array = np.stack([number, place // self.stride, element])[:, reached]
        return found


def correlation_line(count: int, kernel: int, stride: int, padding: int, dilation: int) -> Line:
    """Return the line of `count` windows."""
    reached = [k * dilation for k in range(kernel)]
    phases = sorted({at % stride for at in reached})
    places = tuple((k, phases.index(at % stride), at // stride) for k, at in enumerate(reached))
    length = count + max(at // stride for at in reached)
    return Line(stride, tuple(phases), padding, length, (Part(0, 1, count, places),))


def transposed_line(size: int, kernel: int, stride: int, padding: int, dilation: int) -> Line:
    """Return the line of windows that are spread over `size` elements of the result."""
    shifts = [padding - k * dilation for k in range(kernel)]
    starts = sorted({start for shift in shifts if (start := -shift % stride) < size})
    found = []
    for start in starts:
        places = [(k, (start + shift) // stride) for k, shift in enumerate(shifts) if (start + shift) % stride == 0]
        found.append((start, -((start - size) // stride), places))
    offsets = [offset for _, _, places in found for _, offset in places]
    before = max(0, -min(offsets, default=0))
    length = max((count + offset for _, count, places in found for _, offset in places), default=1)
    parts = tuple(
        Part(start, stride, count, tuple((k, 0, offset + before) for k, offset in places))
        for start, count, places in found
    )
    length = max(before + length, *(part.windows for part in parts), 1)
    return Line(1, (0,), before, length, parts, len(starts) == min(stride, size))


class Operand(NamedTuple):
    """Sizes and strides [samples, channels, spatial...], strides in bytes."""

    sizes: Ints
    strides: Ints

    def flat(self) -> Operand | None:
        """Return the operand with its spatial dims as one; None where their elements are not evenly apart."""
        sizes, strides = self.sizes[2:], self.strides[2:]
        if any(far != near * size for far, near, size in zip(strides, strides[1:], sizes[1:], strict=False)):
            return None
        return Operand((*self.sizes[:2], prod(sizes)), (*self.strides[:2], strides[-1]))


Options = Sequence[tuple[int, int, int, int]]
"""Size of the window, stride, padding and dilation of each dim."""


def coalesced(input: Operand, weight: Operand, output: Operand, options: Options) -> tuple[Any, ...]:
    """Return the same arguments with one spatial dim where windows of one place see every element."""
    flat = input.flat(), output.flat()
    if None in flat or any((size, stride, padding) != (1, 1, 0) for size, stride, padding, _ in options):
        return input, weight, output, options
    return flat[0], Operand((*weight.sizes[:2], 1), (*weight.strides[:2], 0)), flat[1], [(1, 1, 0, 1)]


class Table(NamedTuple):
    """The table of a kernel, which lives as long as its address is used, and what a call has to know beside it."""

    table: Array
    address: int
    scratch: int
    """Bytes of scratch memory before the slots."""
    slot: int
    """Bytes of a slot."""
    units: int
    splits: int
    """The most parts that a unit can be split into."""
    work: int
    covered: bool = True
    """True if the kernel writes every element of the result."""


def _offsets(*of_dims: Array) -> Array:
    """Return the sums of one value from each dim, row-major."""
    return reduce(np.add.outer, of_dims, np.zeros((), np.int64)).reshape(-1)


class _Planes:
    """The memory layout of planes of `lines`, in elements of `itemsize` bytes, and the table that describes it.

    A channel's planes are its phases one after another, each of them for all samples of a block: so windows of
    neighbouring samples are a grid apart.
    """

    def __init__(self, lines: Sequence[Line], input: Operand, itemsize: int, groups: int, outputs: int) -> None:
        self.lines, self.input, self.itemsize, self.groups = lines, input, itemsize, groups
        self.channels, self.outputs = input.sizes[1] // groups, outputs
        lengths = [line.length for line in lines]
        self.pitches = [prod(lengths[d + 1 :]) for d in range(len(lines))]
        self.grid = prod(lengths)
        self.phases = [prod(len(line.phases) for line in lines[d:]) for d in range(len(lines) + 1)]
        self.of_sample = self.channels * self.phases[0] * self.grid
        self.body: list[int] = []
        self.block = 1

    def lay(self, block: int, first: int) -> None:
        """Set the samples of a block, and the number of slots before the table's other parts."""
        self.block, self.first = block, first
        self.channel = self.phases[0] * block * self.grid
        self.phase_pitches = [phases * block * self.grid for phases in self.phases[1:]]

    def place(self, places: Sequence[Ints]) -> int:
        """Return the offset of a place of the window: (place, phase, offset) along each dim."""
        steps = zip(places, self.phase_pitches, self.pitches, strict=True)
        return sum(phase * far + offset * near for (_, phase, offset), far, near in steps)

    def windows(self, counts: Sequence[int]) -> int:
        """Return how far the windows of a sample reach from the first on."""
        return 1 + sum((n - 1) * pitch for n, pitch in zip(counts, self.pitches, strict=True))

    def put(self, values: Any) -> int:
        """Append values to the table; where they begin."""
        at = self.first + len(self.body)
        self.body += [int(value) for value in np.ravel(values)]
        return at

    def input_rows(self) -> Array:
        """Return the rows of a plane: offset in it, offset in the input, length; in bytes and elements."""
        found = [line.rows(size) for line, size in zip(self.lines, self.input.sizes[2:], strict=True)]
        last = found.pop()
        strides = self.input.strides[2:]
        steps = list(zip(found, self.phase_pitches, self.pitches, strides, strict=False))
        to = _offsets(*(phase * far + offset * near for (phase, offset, _), far, near, _ in steps)) * self.itemsize
        of = _offsets(*(element * stride for (_, _, element), _, _, stride in steps))
        rows = []
        for phase in range(len(self.lines[-1].phases)):
            _, offsets, elements = last[:, last[0] == phase]
            if len(offsets):
                start = (phase * self.phase_pitches[-1] + offsets[0]) * self.itemsize
                rows.append(np.stack([to + start, of + elements[0] * strides[-1], np.full(len(to), len(offsets))], 1))
        return np.concatenate(rows) if rows else np.empty((0, 3), np.int64)

    def table(self, slot: tuple[int, int], before: int, more: dict[int, int]) -> Array:
        """Return the table; `slot` has the bytes of its planes and of what follows them."""
        rows = self.input_rows()
        head = {
            Planes.SAMPLES: self.input.sizes[0], Planes.BLOCK: self.block, Planes.GROUPS: self.groups,
            Planes.CHANNELS: self.channels, Planes.OUTPUTS: self.outputs,
            Planes.INPUT_SAMPLE: self.input.strides[0], Planes.INPUT_CHANNEL: self.input.strides[1],
            Planes.INPUT_STEP: self.input.strides[-1] * self.lines[-1].stride,
            Planes.GRID: self.grid * self.itemsize, Planes.CHANNEL: self.channel * self.itemsize,
            Planes.PLANES_BYTES: slot[0], Planes.ROWS: len(rows), Planes.ROWS_AT: self.put(rows),
            Planes.SLOT_BYTES: FLAG + sum(slot), Planes.SLOTS_AT: before, **more,
        }  # fmt: skip
        return np.array([*(head[k] for k in range(len(head))), *self.body], np.int64)


def _rounded(nbytes: int) -> int:
    return -(-nbytes // 64) * 64


def convolution_table(
    input: Operand, weight: Operand, output: Operand, options: Options, dtype: DType, groups: int, *, transposed: bool
) -> Table:
    """Return the table of a convolution; weights are [outputs, channels of a group, kernel...], or the other way."""
    input, weight, output, options = coalesced(input, weight, output, options)
    line = transposed_line if transposed else correlation_line
    lines = [line(size, *option) for size, option in zip(output.sizes[2:], options, strict=True)]
    outputs, itemsize = output.sizes[1] // groups, dtype.itemsize
    planes = _Planes(lines, input, itemsize, groups, outputs)
    lone = outputs == 1
    height, vectors = forward.LONE_TILE if lone else forward.TILE
    tiles, windows_of_tile = -(-outputs // height), vectors * lanes(dtype)
    samples = input.sizes[0]
    most = BLOCK_BYTES // max(1, planes.of_sample * itemsize)
    block = max(1, min(most, -(-samples // FEW_BLOCKS)))
    planes.lay(block, len(Planes) + len(forward.Convolution))
    records, weights, furthest, reach = [], forward.HEAD, 0, 0
    for parts in product(*(line.parts for line in lines)):
        kernel = list(product(*(part.places for part in parts)))
        places = [
            (planes.place(one) * itemsize, sum(at[0] * step for at, step in zip(one, weight.strides[2:], strict=True)))
            for one in kernel
        ]
        counts = [part.windows for part in parts]
        length = planes.windows(counts)
        outer = list(zip(parts[:-1], planes.pitches, output.strides[2:], strict=False))
        of = _offsets(*(np.arange(part.windows) * pitch for part, pitch, _ in outer)) * itemsize
        to = _offsets(*((part.start + part.step * np.arange(part.windows)) * stride for part, _, stride in outer))
        to = to + parts[-1].start * output.strides[-1]
        rows = np.stack([of, to, np.full(len(of), counts[-1])], 1)
        records.append(
            (len(places), planes.put(places), length * itemsize, weights, len(rows), planes.put(rows),
             parts[-1].step * output.strides[-1])
        )  # fmt: skip
        weights += groups * tiles * height * planes.channels * len(places) * itemsize
        furthest = max(furthest, length)
        reach = max([reach, *(length + place // itemsize for place, _ in places)])
    others = (block - 1) * planes.grid + windows_of_tile
    end_of_one = max(planes.channel, others + reach)
    end = (planes.channels - 1) * planes.channel + end_of_one
    pitch = _rounded((others + furthest) * itemsize)
    slot = _rounded((end + transposed * end_of_one) * itemsize), tiles * height * pitch
    kernel_size = prod(weight.sizes[2:])
    at_once = max(1, WEIGHT_BYTES // max(1, tiles * height * kernel_size * itemsize))
    output_step, channel_step = weight.strides[1::-1] if transposed else weight.strides[:2]
    slots = forward.Convolution
    table = planes.table(slot, _rounded(weights), {
        slots.OUTPUT_SAMPLE: output.strides[0], slots.OUTPUT_CHANNEL: output.strides[1],
        slots.WEIGHT_OUTPUT: output_step, slots.WEIGHT_CHANNEL: channel_step,
        slots.WEIGHT_GROUP: weight.strides[0] * (weight.sizes[0] // groups),
        slots.LONE: int(lone), slots.TILES: tiles, slots.CHANNELS_AT_ONCE: at_once,
        slots.PARTS: len(records), slots.PARTS_AT: planes.put(records), slots.WINDOWS_PITCH: pitch,
        slots.TRANSPOSED: int(transposed), slots.MASK_AT: end * itemsize,
    })  # fmt: skip
    units = -(-samples // block) * groups
    work = prod((input if transposed else output).sizes) * max(1, prod(weight.sizes[1:]))
    covered = all(line.covered for line in lines)
    return Table(table, table.ctypes.data, _rounded(weights), FLAG + sum(slot), units, tiles, work, covered)


def gradient_table(
    input: Operand, weight: Operand, grad: Operand, options: Options, dtype: DType, groups: int
) -> Table:
    """Return the table of the gradient of a weight [grad's channels, channels of a group, kernel...]."""
    input, weight, grad, options = coalesced(input, weight, grad, options)
    kernel = weight.sizes[2:]
    lines = [correlation_line(size, *option) for size, option in zip(grad.sizes[2:], options, strict=True)]
    outputs, itemsize, vector = grad.sizes[1] // groups, dtype.itemsize, lanes(dtype)
    planes = _Planes(lines, input, itemsize, groups, outputs)
    height, width = backward.TILE
    (parts,) = product(*(line.parts for line in lines))
    counts = grad.sizes[2:]
    rows, length = prod(counts[:-1]), counts[-1]
    pitch = -(-length // vector) * vector
    samples, channels = input.sizes[0], planes.channels
    of_sample = (planes.of_sample + outputs * rows * pitch) * itemsize
    block = max(1, min(samples, 2 * BLOCK_BYTES // max(1, of_sample)))
    planes.lay(block, len(Planes) + len(backward.ConvolutionGradient))
    whole = planes.channel
    of_channel = [planes.place(one) for one in product(*(part.places for part in parts))]
    places = (np.arange(channels)[:, None] * whole + np.array(of_channel, np.int64)).reshape(-1) * itemsize
    places = np.concatenate([places, places[-1:].repeat(width)])
    outer = [np.arange(count) for count in counts[:-1]]
    in_plane = _offsets(*(index * pitch for index, pitch in zip(outer, planes.pitches, strict=False)))
    in_grad = _offsets(*(index * stride for index, stride in zip(outer, grad.strides[2:], strict=False)))
    in_planes = (np.arange(block)[:, None] * planes.grid + in_plane).reshape(-1)
    in_copy = np.arange(block * rows) * pitch
    within = np.arange(length // vector) * vector
    vectors = np.stack([np.add.outer(one, within).reshape(-1) for one in (in_planes, in_copy)], 1) * itemsize
    ends = (np.stack([in_planes, in_copy], 1) + len(within) * vector) * itemsize
    slot = (
        _rounded((channels * whole + vector) * itemsize),
        _rounded((-(-outputs // height) * height * block * rows * pitch + whole + vector) * itemsize),
    )
    slots = backward.ConvolutionGradient
    table = planes.table(slot, 0, {
        slots.GRAD_SAMPLE: grad.strides[0], slots.GRAD_CHANNEL: grad.strides[1], slots.GRAD_STEP: grad.strides[-1],
        slots.PLACES: prod(kernel), slots.PLACES_AT: planes.put(places), slots.WINDOW_ROWS: rows,
        slots.GRAD_ROWS_AT: planes.put(in_grad), slots.LENGTH: length,
        slots.PITCH: pitch * itemsize, slots.ROWS_AT_ONCE: max(1, ROWS_BYTES // (pitch * itemsize * 5)),
        slots.BLOCKS: -(-samples // block), slots.VECTORS: len(within), slots.VECTORS_AT: planes.put(vectors),
        slots.REST: length % vector, slots.ENDS_AT: planes.put(ends),
    })  # fmt: skip
    work = prod(grad.sizes) * channels * prod(kernel)
    return Table(table, table.ctypes.data, 0, FLAG + sum(slot), groups, channels, work)
