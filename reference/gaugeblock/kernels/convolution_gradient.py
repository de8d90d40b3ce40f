"""The gradient of a convolution's weight as products over planes, added up along the rows of windows.

A tile of output channels by places is held in registers, a vector of partial sums each, while the vectors of some rows
of windows pass: those that rows fill first, then the ends of rows, behind which both factors count as zero.
"""

from __future__ import annotations

import functools
from enum import IntEnum

from ..core.dtype import DType
from .code import Code
from .compiler import Builtin, compiler
from .isa import current_level
from .planes import FIRST_OF_KERNEL, Planes, PlanesWriter, Unit

TILE = (3, 4)
"""Output channels and places of a tile."""


ConvolutionGradient = IntEnum(
    "ConvolutionGradient",
    "GRAD_SAMPLE GRAD_CHANNEL GRAD_STEP PLACES PLACES_AT WINDOW_ROWS GRAD_ROWS_AT LENGTH PITCH ROWS_AT_ONCE BLOCKS "
    "VECTORS VECTORS_AT REST ENDS_AT",
    start=FIRST_OF_KERNEL,
)
"""The slots of the table after those of the planes.

A place is an offset in the planes, channel by channel; TILE's number of places is read at a time. A vector of windows
is an offset in the planes and one in the copied gradient: each row of all samples of a block has VECTORS whole ones
and, where REST elements are left, one of those at ENDS_AT. A row of the gradient is an offset in it, for one sample.
"""


@functools.cache
def convolution_gradient_kernel(dtype: DType) -> Builtin:
    """Return the builtin for float32 or float64; memoised. `other` is the gradient of the result."""
    level = current_level()
    description = f"convolution gradient {dtype.name} {level.name}"
    address = compiler().load(description, ConvolutionGradientWriter(dtype, level).text)
    return compiler().builtin("convolution_gradient", address, [])


class ConvolutionGradientWriter(PlanesWriter):
    """Writes the module of gradients of a dtype."""

    title = "gradient of a convolution's weight"

    def functions(self) -> list[str]:
        tiles = [self._tile("whole", ""), self._tile("ends", "%mask")]
        self.begin()
        return [*tiles, self.prepared(), self._drive()]

    def _tile(self, name: str, mask: str) -> str:
        """@NAME: products of a range of vectors of windows, for each output channel and place, added to those in %sums.
        @ends has a mask of elements that count; @whole begins at zero."""
        code = self.code = Code()
        size, (outputs, places) = self.size, TILE
        sources = [code.move("%planes", code.load("i64", code.slot("%places", j))) for j in range(places)]
        grads = [code.at("%grad", i, "%channel_pitch") for i in range(outputs)]
        sums = [code.move("%sums", k * self.lanes * size) for k in range(outputs * places)]
        state = [(self.vector, code.load(self.vector, one, size) if mask else "zeroinitializer") for one in sums]
        with code.carry("%first", "%last", 1, state) as loop:
            in_planes, in_grad = self.record("%vectors", loop.index, 2)
            seen = [code.move(one, in_planes) for one in sources]
            factors = [code.load(self.vector, code.move(one, in_grad), size) for one in grads]
            loop.following = self._products(factors, seen, loop.values, mask)
        for one, total in zip(sums, loop.results, strict=True):
            code.store(self.vector, total, one, size)
        arguments = (
            "ptr %planes, ptr %places, ptr %grad, i64 %channel_pitch, ptr %vectors, i64 %first, i64 %last, "
            f"<{self.lanes} x i1> %mask, ptr %sums"
        )
        return code.function(f"define internal void @{name}({arguments}) #0", "  ret void")

    def _products(self, factors: list[str], places: list[str], totals: list[str], mask: str) -> list[str]:
        """Return the totals with the products of one vector of windows added."""
        code, found = self.code, list(totals)
        for j, place in enumerate(places):
            seen = code.load(self.vector, place, self.size)
            if mask:
                zero = f"{self.vector} zeroinitializer"
                seen = code.register(f"select <{self.lanes} x i1> {mask}, {self.vector} {seen}, {zero}")
            for i, factor in enumerate(factors):
                k = i * len(places) + j
                found[k] = self.product_added(factor, seen, found[k])
        return found

    def _drive(self) -> str:
        self.begin()
        sums = self.code.register(f"alloca [{TILE[0] * TILE[1]} x {self.vector}]")
        with self.units() as unit:
            code, blocks = self.code, self.entry(ConvolutionGradient.BLOCKS)
            channels = self.share(self.entry(Planes.CHANNELS), unit.split)
            self.clear(self._grads(unit), code.register(f"mul i64 {self.entry(Planes.OUTPUTS)}, {self._pitches()[2]}"))
            with code.loop(0, blocks) as block:
                first = code.register(f"mul i64 {block}, {self.entry(Planes.BLOCK)}")
                left = code.register(f"sub i64 {self.entry(Planes.SAMPLES)}, {first}")
                own = unit._replace(first=first, samples=code.minimum(left, self.entry(Planes.BLOCK)))
                self._fill(own, channels)
                self._add(own, channels, sums)
        return self.drive()

    def _grads(self, unit: Unit) -> str:
        return self.code.move(unit.planes, self.entry(Planes.PLANES_BYTES))

    def _pitches(self) -> tuple[str, str, str]:
        """The bytes of a row of the gradient, of a sample's rows, and of a channel's rows of a block."""
        code, pitch = self.code, self.entry(ConvolutionGradient.PITCH)
        sample = code.register(f"mul i64 {pitch}, {self.entry(ConvolutionGradient.WINDOW_ROWS)}")
        return pitch, sample, code.register(f"mul i64 {sample}, {self.entry(Planes.BLOCK)}")

    def _fill(self, unit: Unit, channels: tuple[str, str]) -> None:
        """Fill the planes of a range of channels, and copy the gradient's rows, zeros behind each."""
        code = self.code
        begin, end = channels
        inputs, outputs = self.entry(Planes.CHANNELS), self.entry(Planes.OUTPUTS)
        channel = code.register(f"add i64 {code.register(f'mul i64 {unit.group}, {inputs}')}, {begin}")
        source = code.at(self.given["input"], unit.first, self.entry(Planes.INPUT_SAMPLE))
        source = code.at(source, channel, self.entry(Planes.INPUT_CHANNEL))
        self.fill_planes(source, unit.planes, code.register(f"sub i64 {end}, {begin}"), unit.samples)
        pitch, sample, whole = self._pitches()
        rows, table = self.entry(ConvolutionGradient.WINDOW_ROWS), self.table(ConvolutionGradient.GRAD_ROWS_AT)
        length, step = self.entry(ConvolutionGradient.LENGTH), self.entry(ConvolutionGradient.GRAD_STEP)
        with code.loop(0, outputs) as output, code.loop(0, unit.samples) as n, code.loop(0, rows) as row:
            number = code.register(f"add i64 {code.register(f'mul i64 {unit.group}, {outputs}')}, {output}")
            origin = code.at(self.given["other"], number, self.entry(ConvolutionGradient.GRAD_CHANNEL))
            index = code.register(f"add i64 {unit.first}, {n}")
            origin = code.at(origin, index, self.entry(ConvolutionGradient.GRAD_SAMPLE))
            origin = code.move(origin, code.load("i64", code.slot(table, row)))
            target = code.at(code.at(code.at(self._grads(unit), output, whole), n, sample), row, pitch)
            self.copy(target, origin, length, self.size, step)

    def _add(self, unit: Unit, channels: tuple[str, str], sums: str) -> None:
        """Add to the gradient of the weight what the rows of a block give."""
        code, size, (height, width) = self.code, self.size, TILE
        places, outputs = self.entry(ConvolutionGradient.PLACES), self.entry(Planes.OUTPUTS)
        inputs = self.entry(Planes.CHANNELS)
        _, _, whole = self._pitches()
        count = code.register(f"mul i64 {unit.samples}, {self.entry(ConvolutionGradient.WINDOW_ROWS)}")
        first_place, last_place = (code.register(f"mul i64 {one}, {places}") for one in channels)
        shift = code.register(f"mul i64 {channels[0]}, {self.entry(Planes.CHANNEL)}")
        planes = code.move(unit.planes, code.register(f"sub i64 0, {shift}"))
        length_of_weight = code.register(f"mul i64 {inputs}, {places}")
        before = code.register(f"mul i64 {unit.group}, {outputs}")
        at_once = self.entry(ConvolutionGradient.ROWS_AT_ONCE)
        vectors, rest = self.entry(ConvolutionGradient.VECTORS), self.entry(ConvolutionGradient.REST)
        ragged = code.register(f"icmp ne i64 {rest}, 0")
        parts = (("whole", ConvolutionGradient.VECTORS_AT, vectors),
                 ("ends", ConvolutionGradient.ENDS_AT, code.register(f"zext i1 {ragged} to i64")))  # fmt: skip
        ints, numbers = f"<{self.lanes} x i64>", ", ".join(f"i64 {k}" for k in range(self.lanes))
        one = code.register(f"insertelement {ints} undef, i64 {rest}, i32 0")
        spread = code.register(f"shufflevector {ints} {one}, {ints} undef, <{self.lanes} x i32> zeroinitializer")
        mask = code.register(f"icmp slt {ints} <{numbers}>, {spread}")
        with code.loop(0, count, at_once) as row:
            last = code.minimum(code.register(f"add i64 {row}, {at_once}"), count)
            with code.loop(0, outputs, height) as output, code.loop(first_place, last_place, width) as place:
                for name, table, of_row in parts:
                    first, end = (code.register(f"mul i64 {one}, {of_row}") for one in (row, last))
                    code.line(
                        f"call void @{name}(ptr {planes}, "
                        f"ptr {code.slot(self.table(ConvolutionGradient.PLACES_AT), place)}, "
                        f"ptr {code.at(self._grads(unit), output, whole)}, i64 {whole}, ptr {self.table(table)}, "
                        f"i64 {first}, i64 {end}, <{self.lanes} x i1> {mask}, ptr {sums})"
                    )
                rows = code.minimum(code.register(f"sub i64 {outputs}, {output}"), height)
                columns = code.minimum(code.register(f"sub i64 {last_place}, {place}"), width)
                with code.loop(0, rows) as i, code.loop(0, columns) as j:
                    number = code.register(f"add i64 {before}, {code.register(f'add i64 {output}, {i}')}")
                    target = code.at(self.given["out"], code.register(f"mul i64 {number}, {length_of_weight}"), size)
                    target = code.at(target, code.register(f"add i64 {place}, {j}"), size)
                    found = code.at(code.at(sums, i, width * self.lanes * size), j, self.lanes * size)
                    so_far, more = code.load(self.type, target, size), code.load(self.vector, found, size)
                    given = f"{self.type} {so_far}, {self.vector} {more}"
                    total = code.register(f"call reassoc {self.type} @llvm.vector.reduce.fadd.{self.suffix}({given})")
                    code.store(self.type, total, target, size)
