"""The emulator of PTX: instructions as the ISA describes them, parameters, calls, and what it refuses."""

from __future__ import annotations

import ctypes
import math
import struct

import pytest
from gaugeblock_testing.ptx_emulator import Machine
from gaugeblock_testing.ptx_emulator.arithmetic import operation
from gaugeblock_testing.ptx_emulator.syntax import parsed

HEAD = ".version 7.5\n.target sm_80\n.address_size 64\n"
NAN, ONE, TWO, INFINITY = 0x7FC00000, 0x3F800000, 0x40000000, 0x7F800000


def bits(value: float) -> int:
    found: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return found


@pytest.mark.parametrize(
    ("opcode", "given", "expected"),
    [
        ("add.s32", (0xFFFFFFFF, 2), 1),
        ("mul.lo.s32", (0x10001, 0x10001), 0x20001),
        ("mul.hi.u32", (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE),
        ("mul.wide.s32", (0xFFFFFFFF, 16), (1 << 64) - 16),
        ("mul.wide.u32", (0xFFFFFFFF, 16), 0xFFFFFFFF0),
        ("div.s32", (-7 & 0xFFFFFFFF, 2), -3 & 0xFFFFFFFF),
        ("rem.s64", (-7 & ((1 << 64) - 1), 2), (1 << 64) - 1),
        ("shl.b32", (1, 32), 0),
        ("shr.s32", (0x80000000, 40), 0xFFFFFFFF),
        ("shr.u32", (0x80000000, 31), 1),
        ("prmt.b32", (0x33221180, 0x77665544, 0x8704), 0xFF778044),
        ("bfe.u64", (0xABCD, 4, 8), 0xBC),
        ("shf.l.wrap.b32", (0x80000000, 1, 33), 3),
        ("min.f32", (NAN, ONE), ONE),
        ("max.f32", (TWO, NAN), TWO),
        ("div.rn.f32", (bits(-1.0), 0), bits(-math.inf)),
        ("rcp.rn.f32", (TWO,), bits(0.5)),
        ("copysign.f32", (bits(-3.0), TWO), bits(-2.0)),
        ("fma.rn.f32", (bits(1 + 2**-12), bits(1 + 2**-12), bits(-1.0)), bits(2**-11 + 2**-24)),
        ("add.rn.f32", (0x7F7FFFFF, 0x7F7FFFFF), INFINITY),
        ("setp.neu.f32", (NAN, NAN), 1),
        ("setp.ne.f32", (NAN, ONE), 0),
        ("setp.ge.s32", (0xFFFFFFFF, 0), 0),
        ("setp.ge.u32", (0xFFFFFFFF, 0), 1),
        ("setp.num.f32", (ONE, NAN), 0),
        ("cvt.rzi.s32.f32", (bits(-1e20),), 0x80000000),
        ("cvt.rzi.s64.f32", (NAN,), 0),
        ("cvt.rni.f32.f32", (bits(2.5),), TWO),
        ("cvt.rmi.f32.f32", (bits(-0.5),), bits(-1.0)),
        ("cvt.rn.f16.f32", (bits(65520.0),), 0x7C00),
        ("cvt.rn.f32.s64", ((1 << 60) + 1,), bits(2.0**60)),
        ("cvt.u32.u16", (0x1FFFF,), 0xFFFF),
        ("xor.pred", (1, 1), 0),
        ("not.pred", (0,), 1),
    ],
)
def test_instructions(opcode: str, given: tuple[int, ...], expected: int) -> None:
    width = 64 if opcode.endswith(("64", "wide.s32", "wide.u32")) else 32
    assert operation(tuple(opcode.split(".")))(*given) & ((1 << width) - 1) == expected


def test_narrow_conversions_repeat_the_sign() -> None:
    assert operation(("cvt", "s8", "s32"))(0x180) & 0xFFFF == 0xFF80


def test_threads_parameters_loops_calls_and_tables() -> None:
    text = f"""{HEAD}
.global .align 8 .b64 table[2] = {{0x10, 0x20}};
.func (.param .b64 func_retval0) twice(.param .b64 twice_param_0) {{
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [twice_param_0];
  add.s64 %rd2, %rd1, %rd1;
  st.param.b64 [func_retval0], %rd2;
  ret;
}}
.visible .entry k(.param .u64 .ptr .global .align 1 k_param_0, .param .u32 k_param_1,
  .param .align 4 .b8 k_param_2[8]) .maxntid 256 {{
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  ld.param.b32 %r5, [k_param_1];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra $end;
  mov.b64 %rd1, k_param_2;
  ld.param.b32 %r6, [%rd1+4];
  cvt.u64.u32 %rd2, %r6;
  {{ // callseq 0
  .param .b64 param0;
  st.param.b64 [param0], %rd2;
  .param .b64 retval0;
  call.uni (retval0),
  twice,
  (
  param0
  );
  ld.param.b64 %rd3, [retval0];
  }}
  mov.b64 %rd4, table;
  ld.global.b64 %rd5, [%rd4+8];
  add.s64 %rd6, %rd3, %rd5;
  ld.param.b64 %rd7, [k_param_0];
  mul.wide.s32 %rd8, %r4, 8;
  add.s64 %rd9, %rd7, %rd8;
  st.global.b64 [%rd9], %rd6;
$end:
  ret;
}}
"""
    out = (ctypes.c_int64 * 6)(*[-1] * 6)
    arguments = [ctypes.c_uint64(ctypes.addressof(out)), ctypes.c_uint32(5), (ctypes.c_uint32 * 2)(1, 7)]
    machine = Machine(text.encode() + b"\0")
    machine.run("k", (3, 1, 1), (2, 1, 1), arguments)
    assert list(out) == [46] * 5 + [-1]
    with pytest.raises(TypeError, match="takes 3 arguments, got 2"):
        machine.run("k", (1, 1, 1), (1, 1, 1), arguments[:2])
    with pytest.raises(TypeError, match="do not fit its 20 bytes"):
        machine.run("k", (1, 1, 1), (1, 1, 1), [*arguments[:2], (ctypes.c_uint32 * 3)()])


def test_misaligned_addresses_are_refused() -> None:
    def load(registers: str, width: int) -> None:
        text = f"{HEAD}.visible .entry k(.param .u64 k_param_0) {{\n ld.param.b64 %rd1, [k_param_0];\n"
        text += f" ld.global.v{width}.b32 {{{registers}}}, [%rd1];\n ret;\n}}"
        Machine(text.encode()).run("k", (1, 1, 1), (1, 1, 1), [ctypes.c_uint64(place)])

    data = ctypes.create_string_buffer(64)
    place = ctypes.addressof(data) // 16 * 16 + 24
    load("%r1, %r2", 2)
    with pytest.raises(ValueError, match=r"misaligned address .* in ld.global.v4.b32"):
        load("%r1, %r2, %r3, %r4", 4)


def test_unknown_instructions_are_named() -> None:
    with pytest.raises(ValueError, match=r"instruction 'sin.approx.f32' is not known"):
        Machine(f"{HEAD}.visible .entry k() {{\n sin.approx.f32 %r1, %r2;\n ret;\n}}".encode())


def test_tables_are_as_long_as_they_say() -> None:
    module = parsed(".global .align 8 .b8 table[8] = {1, 2, 3};\n.global .align 4 .b32 word = 7;\n")
    assert module.tables == {"table": bytes([1, 2, 3, 0, 0, 0, 0, 0]), "word": bytes([7, 0, 0, 0])}
