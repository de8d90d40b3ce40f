"""Scalar routines written in LLVM IR that kernels may call, included in a module when used."""

from __future__ import annotations


def _power(bits: int) -> str:
    t = f"i{bits}"
    return f"""define internal {t} @gb_power_{bits}({t} %base, {t} %exponent) {{
entry:
  br label %test
test:
  %result = phi {t} [1, %entry], [%next_result, %step]
  %square = phi {t} [%base, %entry], [%next_square, %step]
  %left = phi {t} [%exponent, %entry], [%next_left, %step]
  %done = icmp eq {t} %left, 0
  br i1 %done, label %end, label %step
step:
  %odd = trunc {t} %left to i1
  %product = mul {t} %result, %square
  %next_result = select i1 %odd, {t} %product, {t} %result
  %next_square = mul {t} %square, %square
  %next_left = lshr {t} %left, 1
  br label %test
end:
  ret {t} %result
}}"""


ROUTINES: dict[str, str] = {f"gb_power_{bits}": _power(bits) for bits in (8, 16, 32, 64)}
