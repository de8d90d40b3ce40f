"""The remainder of float64 numbers whose quotient does not fit a mantissa: long division, eleven bits at a time."""

from __future__ import annotations

_INFINITY = 0x7FF << 52
_MAGNITUDE = (1 << 63) - 1
_FRACTION = (1 << 52) - 1


def _parts(name: str) -> str:
    """The exponent (at least 1) and the whole mantissa of %{name}_size."""
    return f"""  %{name}_field = lshr i64 %{name}_size, 52
  %{name}_small = icmp eq i64 %{name}_field, 0
  %{name}_exponent = select i1 %{name}_small, i64 1, i64 %{name}_field
  %{name}_leading = select i1 %{name}_small, i64 0, i64 {1 << 52}
  %{name}_fraction = and i64 %{name}_size, {_FRACTION}
  %{name}_whole = or i64 %{name}_fraction, %{name}_leading"""


def fmod(name: str) -> str:
    """IR text of the function `name`: C's fmod."""
    return f"""define internal double {name}(double %a, double %b) #0 {{
entry:
  %a_bits = bitcast double %a to i64
  %b_bits = bitcast double %b to i64
  %a_size = and i64 %a_bits, {_MAGNITUDE}
  %b_size = and i64 %b_bits, {_MAGNITUDE}
  %endless = icmp uge i64 %a_size, {_INFINITY}
  %no_number = icmp ugt i64 %b_size, {_INFINITY}
  %zero = icmp eq i64 %b_size, 0
  %either = or i1 %endless, %no_number
  %wrong = or i1 %either, %zero
  br i1 %wrong, label %invalid, label %valid
invalid:
  %product = fmul double %a, %b
  %nothing = fdiv double %product, %product
  ret double %nothing
valid:
  %less = icmp ult i64 %a_size, %b_size
  br i1 %less, label %same, label %divide
same:
  ret double %a
divide:
{_parts("a")}
{_parts("b")}
  %first = urem i64 %a_whole, %b_whole
  %gap = sub i64 %a_exponent, %b_exponent
  br label %test
test:
  %rest = phi i64 [%first, %divide], [%next, %step]
  %left = phi i64 [%gap, %divide], [%left_next, %step]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %step, label %done
step:
  %few = icmp slt i64 %left, 11
  %shift = select i1 %few, i64 %left, i64 11
  %moved = shl i64 %rest, %shift
  %next = urem i64 %moved, %b_whole
  %left_next = sub i64 %left, %shift
  br label %test
done:
  %number = uitofp i64 %rest to double
  %high = icmp uge i64 %b_exponent, 53
  %direct = sub i64 %b_exponent, 52
  %lifted = add i64 %b_exponent, 1022
  %power = select i1 %high, i64 %direct, i64 %lifted
  %power_bits = shl i64 %power, 52
  %factor = bitcast i64 %power_bits to double
  %scaled = fmul double %number, %factor
  %lowered = fmul double %scaled, 0x0000000000000001
  %size = select i1 %high, double %scaled, double %lowered
  %size_bits = bitcast double %size to i64
  %sign = and i64 %a_bits, {-(1 << 63)}
  %result_bits = or i64 %size_bits, %sign
  %result = bitcast i64 %result_bits to double
  ret double %result
}}"""
