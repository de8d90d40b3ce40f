"""Scalar routines written in LLVM IR that kernels may call, included in a module when used.

Those in PLAIN_ROUTINES only call others; they stand in the module's part without optimisation, after its name.
"""

from __future__ import annotations

from .code import NAME


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


_GCD = """define internal i64 @gb_gcd(i64 %a, i64 %b) {
entry:
  br label %test
test:
  %x = phi i64 [%a, %entry], [%y, %step]
  %y = phi i64 [%b, %entry], [%rest, %step]
  %done = icmp eq i64 %y, 0
  br i1 %done, label %end, label %step
step:
  %rest = urem i64 %x, %y
  br label %test
end:
  ret i64 %x
}"""

# C's double functions that are off by more than one unit in the last place, where the extended ones are not.
EXTENDED = ("lgamma",)


def _extended(name: str) -> str:
    """The double function by way of the 80-bit one: rounded once more, within 0.51 units in the last place."""
    return f"""declare x86_fp80 @{name}l(x86_fp80)
define double @{NAME}_gb_extended_{name}(double %x) {{
  %wide = fpext double %x to x86_fp80
  %value = call x86_fp80 @{name}l(x86_fp80 %wide)
  %result = fptrunc x86_fp80 %value to double
  ret double %result
}}"""


def _single(name: str) -> str:
    """The float function by way of the double one."""
    return f"""declare double @{name}(double)
define float @{NAME}_gb_single_{name}(float %x) {{
  %wide = fpext float %x to double
  %value = call double @{name}(double %wide)
  %result = fptrunc double %value to float
  ret float %result
}}"""


ROUTINES: dict[str, str] = {f"gb_power_{bits}": _power(bits) for bits in (8, 16, 32, 64)} | {"gb_gcd": _GCD}
PLAIN_ROUTINES: dict[str, str] = {f"gb_extended_{name}": _extended(name) for name in EXTENDED}
PLAIN_ROUTINES |= {f"gb_single_{name}": _single(name) for name in ("sin", "cos", "tan")}
