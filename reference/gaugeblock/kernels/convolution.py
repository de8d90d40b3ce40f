"""Convolution as products over planes: a tile of output channels by windows is held in registers.

All input channels and places of the window are added up there, some channels at a time, so that their weights stay in
the cache. A transposed convolution with a stride is several parts, one for each phase of its result. What lies around
its input is no operand, so where a weight is not finite a mask, one more channel of planes, says what counts.
"""

from __future__ import annotations

import functools
from enum import IntEnum

from ..core.dtype import DType
from .code import Code
from .compiler import Builtin, compiler
from .isa import current_level
from .planes import FIRST_OF_KERNEL, Planes, PlanesWriter, Unit

TILE = (4, 3)
"""Output channels and vectors of windows of a tile."""
LONE_TILE = (1, 8)
"""The tile of groups that have a single output channel."""
PART = 7
HEAD = 64
"""Bytes of scratch memory before the weights: whether there is a mask."""


Convolution = IntEnum(
    "Convolution",
    "OUTPUT_SAMPLE OUTPUT_CHANNEL WEIGHT_OUTPUT WEIGHT_CHANNEL WEIGHT_GROUP LONE TILES CHANNELS_AT_ONCE PARTS PARTS_AT "
    "WINDOWS_PITCH TRANSPOSED MASK_AT",
    start=FIRST_OF_KERNEL,
)
"""The slots of the table after those of the planes.

A part of the result has PART entries: the number of places, where they stand in the table, the bytes of a sample's
windows, where its weights begin in the scratch memory, the number of rows, where they stand, and the bytes from one
element of a row to the next. A place is an offset in the planes and in the weight; a row is an offset among the windows
and in the result, and its length.
"""


@functools.cache
def convolution_kernel(dtype: DType) -> Builtin:
    """Return the builtin for a dtype of ints, float32 or float64; memoised. `other` is the weight."""
    level = current_level()
    description = f"convolution {dtype.name} {level.name}"
    return compiler().builtin("convolution", compiler().load(description, ConvolutionWriter(dtype, level).text), [])


class ConvolutionWriter(PlanesWriter):
    """Writes the module of convolutions of a dtype."""

    title = "convolution"

    def functions(self) -> list[str]:
        tiles = [self._tile(*tile, masked=masked) for tile in (TILE, LONE_TILE) for masked in (False, True)]
        return [*tiles, self._prepare(), self._drive()]

    def _tile(self, rows: int, vectors: int, *, masked: bool) -> str:
        """@tileROWS, @maskedROWS: products over channels and places, added to a tile unless it is the first time."""
        code = self.code = Code()
        size, step = self.size, self.lanes * self.size
        out = [code.move(code.at("%out", r, "%pitch"), v * step) for r in range(rows) for v in range(vectors)]
        before = [code.load(self.vector, one, size) for one in out]
        zero = f"{self.vector} zeroinitializer"
        state = [(self.vector, code.register(f"select i1 %first, {zero}, {self.vector} {one}")) for one in before]
        factors_of_channel = code.register(f"mul i64 %places, {rows * size}")
        with code.carry(0, "%channels", 1, state) as channels:
            plane = code.at("%planes", channels.index, "%channel_planes")
            factors = code.at("%weights", channels.index, factors_of_channel)
            with code.carry(0, "%places", 1, [(self.vector, one) for one in channels.values]) as places:
                offset = code.load("i64", code.at("%table", places.index, 16))
                source = code.move(plane, offset)
                seen = [code.load(self.vector, code.move(source, v * step), size) for v in range(vectors)]
                masks = [""] * vectors
                if masked:
                    ints, mask = f"<{self.lanes} x i{8 * size}>", code.move("%mask", offset)
                    masks = [code.load(ints, code.move(mask, v * step), size) for v in range(vectors)]
                factor = code.at(factors, places.index, rows * size)
                for r in range(rows):
                    value = self.splat(code.load(self.type, code.move(factor, r * size), size))
                    for one, mask in zip(seen, masks, strict=True):
                        total = places.values[len(places.following)]
                        places.following.append(self.product_added(value, one, total, mask))
            channels.following = places.results
        for one, total in zip(out, channels.results, strict=True):
            code.store(self.vector, total, one, size)
        arguments = (
            "ptr %planes, ptr %table, i64 %places, i64 %channels, i64 %channel_planes, ptr %weights, ptr %out, "
            "i64 %pitch, i1 %first, ptr %mask"
        )
        name = f"masked{rows}" if masked else f"tile{rows}"
        return code.function(f"define internal void @{name}({arguments}) #0", "  ret void")

    def _shape(self) -> tuple[str, str, str]:
        """Return whether tiles have one output channel, how many they have, and the bytes of a tile's row."""
        code = self.code
        lone = code.register(f"icmp ne i64 {self.entry(Convolution.LONE)}, 0")
        bytes_of = [vectors * self.lanes * self.size for _, vectors in (LONE_TILE, TILE)]
        rows = code.register(f"select i1 {lone}, i64 {LONE_TILE[0]}, i64 {TILE[0]}")
        return lone, rows, code.register(f"select i1 {lone}, i64 {bytes_of[0]}, i64 {bytes_of[1]}")

    def _prepare(self) -> str:
        """@NAME_prepare: the weights of each tile side by side, place after place, in the scratch memory."""
        self.begin()
        code, size = self.code, self.size
        _, rows, _ = self._shape()
        cursor = code.variable("ptr", code.move(self.given["scratch"], HEAD))
        worst = code.variable(self.type, self.zero, size)
        parts, outputs = self.table(Convolution.PARTS_AT), self.entry(Planes.OUTPUTS)
        with code.loop(0, self.entry(Convolution.PARTS)) as part:
            places, places_at, *_ = self.record(parts, part, PART)
            place_table = code.slot(self.given["table"], places_at)
            with code.loop(0, self.entry(Planes.GROUPS)) as g, code.loop(0, self.entry(Convolution.TILES)) as tile:
                first = code.register(f"mul i64 {tile}, {rows}")
                with code.loop(0, self.entry(Planes.CHANNELS)) as c, code.loop(0, places) as t:
                    source = code.at(self.given["other"], g, self.entry(Convolution.WEIGHT_GROUP))
                    source = code.at(source, c, self.entry(Convolution.WEIGHT_CHANNEL))
                    source = code.move(source, self.record(place_table, t, 2)[1])
                    target = code.load("ptr", cursor)
                    with code.loop(0, rows) as r:
                        output = code.register(f"add i64 {first}, {r}")
                        there = code.register(f"icmp slt i64 {output}, {outputs}")
                        output = code.register(f"select i1 {there}, i64 {output}, i64 0")
                        place = code.at(source, output, self.entry(Convolution.WEIGHT_OUTPUT))
                        value = code.load(self.type, place, size)
                        value = code.register(f"select i1 {there}, {self.type} {value}, {self.type} {self.zero}")
                        code.store(self.type, value, code.at(target, r, size), size)
                        nothing = code.register(f"{self.multiply} {self.type} {value}, {self.zero}")
                        so_far = code.load(self.type, worst, size)
                        nothing = code.register(f"{self.add} {self.type} {so_far}, {nothing}")
                        code.store(self.type, nothing, worst, size)
                    code.store("ptr", code.at(target, rows, size), cursor)
        nothing = code.load(self.type, worst, size)
        compare = "fcmp uno" if self.float else "icmp ne"
        infinite = code.register(f"{compare} {self.type} {nothing}, {self.zero}")
        transposed = code.register(f"icmp ne i64 {self.entry(Convolution.TRANSPOSED)}, 0")
        masked = code.register(f"and i1 {infinite}, {transposed}")
        code.store("i64", code.register(f"zext i1 {masked} to i64"), self.given["scratch"])
        return self.prepared()

    def _drive(self) -> str:
        self.begin()
        nothing, everything = (self.code.variable(f"i{8 * self.size}", bits, self.size) for bits in (0, -1))
        flag = self.code.load("i64", self.given["scratch"])
        masked = self.code.register(f"icmp ne i64 {flag}, 0")
        with self.units() as unit:
            code, channels, outputs = self.code, self.entry(Planes.CHANNELS), self.entry(Planes.OUTPUTS)
            source = code.at(self.given["input"], unit.first, self.entry(Planes.INPUT_SAMPLE))
            channel = code.register(f"mul i64 {unit.group}, {channels}")
            source = code.at(source, channel, self.entry(Planes.INPUT_CHANNEL))
            self.fill_planes(source, unit.planes, channels, unit.samples)
            mask = code.move(unit.planes, self.entry(Convolution.MASK_AT))
            with code.when(masked):
                self.fill_planes(everything, mask, "1", unit.samples, constant=True)
            tiles = self.share(self.entry(Convolution.TILES), unit.split)
            parts = self.table(Convolution.PARTS_AT)
            with code.loop(0, self.entry(Convolution.PARTS)) as part:
                record = self.record(parts, part, PART)
                self._compute(unit, record, tiles, (masked, mask))
                self._give_out(unit, record, tiles, outputs, nothing)
        return self.drive()

    def _windows(self, unit: Unit) -> str:
        """Return the address of the windows that a slot has computed, one row for each output channel."""
        return self.code.move(unit.planes, self.entry(Planes.PLANES_BYTES))

    def _compute(self, unit: Unit, record: list[str], tiles: tuple[str, str], mask: tuple[str, str]) -> None:
        """Compute the windows of a part for a range of tiles; `mask` says whether there is one, and where."""
        code = self.code
        places, places_at, nbytes, weights_at, *_ = record
        lone, rows, step = self._shape()
        channels, channel_planes = self.entry(Planes.CHANNELS), self.entry(Planes.CHANNEL)
        pitch, windows = self.entry(Convolution.WINDOWS_PITCH), self._windows(unit)
        place_table = code.slot(self.given["table"], places_at)
        factors_of_row = code.register(f"mul i64 {places}, {self.size}")
        row_bytes = code.register(f"mul i64 {channels}, {factors_of_row}")
        tile_bytes = code.register(f"mul i64 {row_bytes}, {rows}")
        weights = code.move(self.given["scratch"], weights_at)
        before = code.register(f"mul i64 {unit.group}, {self.entry(Convolution.TILES)}")
        others = code.register(f"sub i64 {unit.samples}, 1")
        end = code.register(f"add i64 {nbytes}, {code.register(f'mul i64 {others}, {self.entry(Planes.GRID)}')}")
        none = code.register(f"icmp eq i64 {channels}, 0")
        with code.loop(0, code.register(f"select i1 {none}, i64 1, i64 {channels}"),
                       self.entry(Convolution.CHANNELS_AT_ONCE)) as c:  # fmt: skip
            left = code.register(f"sub i64 {channels}, {c}")
            count = code.minimum(left, self.entry(Convolution.CHANNELS_AT_ONCE))
            initial = code.register(f"icmp eq i64 {c}, 0")
            origin = code.at(unit.planes, c, channel_planes)
            passed = code.register(f"mul i64 {code.register(f'mul i64 {c}, {factors_of_row}')}, {rows}")
            with code.loop(0, end, step) as at, code.loop(*tiles) as tile:
                factors = code.at(weights, code.register(f"add i64 {before}, {tile}"), tile_bytes)
                out = code.at(windows, code.register(f"mul i64 {tile}, {rows}"), pitch)
                functions = [
                    code.register(f"select i1 {mask[0]}, ptr @masked{rows_of}, ptr @tile{rows_of}")
                    for rows_of in (LONE_TILE[0], TILE[0])
                ]
                function = code.register(f"select i1 {lone}, ptr {functions[0]}, ptr {functions[1]}")
                code.line(
                    f"call void {function}(ptr {code.move(origin, at)}, ptr {place_table}, i64 {places}, i64 {count}, "
                    f"i64 {channel_planes}, ptr {code.move(factors, passed)}, ptr {code.move(out, at)}, i64 {pitch}, "
                    f"i1 {initial}, ptr {code.move(mask[1], at)})"
                )

    def _give_out(self, unit: Unit, record: list[str], tiles: tuple[str, str], outputs: str, nothing: str) -> None:
        """Copy the rows of windows of a part to where they belong in the result, and add the bias."""
        code = self.code
        *_, rows, rows_at, step = record
        row_table, windows = code.slot(self.given["table"], rows_at), self._windows(unit)
        _, height, _ = self._shape()
        before = code.register(f"mul i64 {unit.group}, {outputs}")
        begin, end = (code.minimum(code.register(f"mul i64 {one}, {height}"), outputs) for one in tiles)
        biased = code.register(f"icmp ne ptr {self.given['bias']}, null")
        with code.loop(begin, end) as output:
            channel = code.register(f"add i64 {before}, {output}")
            place = code.at(self.given["bias"], channel, self.size)
            bias = code.load(self.type, code.register(f"select i1 {biased}, ptr {place}, ptr {nothing}"), self.size)
            target = code.at(self.given["out"], unit.first, self.entry(Convolution.OUTPUT_SAMPLE))
            target = code.at(target, channel, self.entry(Convolution.OUTPUT_CHANNEL))
            source = code.at(windows, output, self.entry(Convolution.WINDOWS_PITCH))
            with code.loop(0, unit.samples) as n, code.loop(0, rows) as row:
                start, to, count = self.record(row_table, row, 3)
                found = code.move(code.at(source, n, self.entry(Planes.GRID)), start)
                into = code.move(code.at(target, n, self.entry(Convolution.OUTPUT_SAMPLE)), to)
                self.copy(into, found, count, step, self.size, bias)
