"""Make random calls over the whole public surface of the engine, and report faults.

    python attacks/random_calls.py FIRST COUNT [--calls N]

makes ``N`` random calls for each of ``COUNT`` seeds from ``FIRST`` on: every public function and every method of a
tensor, with arguments drawn by the types of its schema and, now and then, against them. A call may succeed or raise a
deliberate error. A fault is an error that the interpreter or a library raised inside the engine (the engine's last line
in the traceback is not a ``raise`` statement), a call that hangs, or a result that cannot be printed. Faults are
printed as JSON, one on a line. The file ``--journal`` names the running call, so that a crash can be attributed to it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import json
import linecache
import random
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import gaugeblock as gb
import numpy as np
from gaugeblock_spec.operators import load
from gaugeblock_spec.schema import Argument, parse

SECONDS = 60
"""Seconds after which a call is considered to hang."""

EXPECTED = (
    RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, BufferError, AssertionError,
)  # fmt: skip
"""Classes of the errors with which an operator may refuse a call."""

MODULES = ("nn.functional", "linalg", "fft", "special", "signal.windows")
UNSAFE = frozenset(
    """from_blob save load set_num_threads set_default_device set_default_dtype manual_seed seed set_rng_state
    set_printoptions use_deterministic_algorithms register_hook share_memory_ frombuffer show_binding""".split()
)
"""Functions that use files, foreign memory or process state; other attacks cover them."""

SIZES: tuple[tuple[int, ...], ...] = (
    (), (0,), (1,), (3,), (17,), (2, 3), (3, 3), (0, 3), (3, 0), (1, 3), (3, 1), (2, 1, 3), (4, 2, 3), (3, 0, 2),
    (2, 3, 5, 5), (1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2), (33, 17),
)  # fmt: skip
DTYPES = (
    "float32", "float32", "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool", "uint8",
    "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 3, -2, 5, 7, 64, -100, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**63, 2**70)
REALS = (0.0, 1.0, -0.0, 0.5, -1.5, 2.0, 1e-45, 1e300, -1e300, float("inf"), float("-inf"), float("nan"))
WORDS = ("mean", "sum", "none", "", "reflect", "constant", "left", "trunc", "floor", "bilinear", "ortho", "raw", "\x00")


class Fault(Exception):
    """A fault of a call that raised no unexpected error."""


class Draw:
    """Arguments for calls, drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.near: tuple[int, ...] = (2, 3)

    def size(self) -> tuple[int, ...]:
        """Return sizes, most often those of the call's other tensors."""
        if self.random.random() < 0.6:
            return self.near
        return self.random.choice(SIZES)

    def tensor(self) -> gb.Tensor:
        """Return a tensor: contiguous, permuted, gapped, expanded, offset, overlapping, meta or conjugated."""
        pick = self.random
        size, name = self.size(), pick.choice(DTYPES)
        dtype = getattr(gb, name)
        number = 1
        for n in size:
            number *= n
        cells = np.random.default_rng(pick.getrandbits(32)).integers(-3, 4, 2 * number + 7)
        plain = gb.from_numpy(cells).to(dtype)
        layout = pick.randrange(10)
        if layout == 0 and len(size) > 1:
            made = plain[:number].reshape(size[::-1]).permute(tuple(range(len(size)))[::-1])
        elif layout == 1 and number:
            made = plain[: 2 * number : 2].reshape(size)
        elif layout == 2 and size:
            made = plain[:1].expand(size)
        elif layout == 3:
            made = plain[3 : 3 + number].reshape(size)
        elif layout == 4 and size:
            made = plain.as_strided(size, (1,) * len(size), 1) if sum(size) < len(cells) else plain[:number].view(size)
        elif layout == 5:
            made = plain[:number].reshape(size).to("meta")
        else:
            made = plain[:number].reshape(size)
        if made.is_complex() and pick.random() < 0.3:
            made = made.conj()
        if made.dtype.is_floating_point and pick.random() < 0.2:
            made = made.detach().requires_grad_()
        return made

    def junk(self) -> Any:
        """Return a value of any type, rarely the right one."""
        pick = self.random
        kinds: tuple[Callable[[], Any], ...] = (
            self.tensor, self.integer, self.real, lambda: None, lambda: pick.choice(WORDS), lambda: gb.float32,
            lambda: 1 + 2j, list, lambda: [1, [2, 3]], lambda: (self.tensor(), None), object,
            lambda: np.float32(1.5), lambda: slice(None), lambda: b"ab", lambda: {"a": 1},
            lambda: ..., lambda: gb.device("meta"), lambda: range(3), lambda: True, lambda: gb.Size((2, 3)),
        )  # fmt: skip
        return pick.choice(kinds)()

    def integer(self) -> int:
        return self.random.choice(INTEGERS[:8]) if self.random.random() < 0.8 else self.random.choice(INTEGERS)

    def real(self) -> float:
        return self.random.choice(REALS)

    def small(self) -> int:
        """Return an integer usable as a size; huge ones would only fill the memory."""
        return self.random.choice((0, 1, 2, 3, 4, -1)) if self.random.random() < 0.95 else self.integer()

    def argument(self, argument: Argument) -> Any:
        """Return a value for an argument, occasionally of a wrong type."""
        if self.random.random() < 0.03:
            return self.junk()
        kind = argument.type
        if kind.endswith("?"):
            if self.random.random() < 0.3:
                return None
            kind = kind[:-1]
        base, _, rest = kind.partition("[")
        base = base.rstrip("?")
        if rest:
            length = int(rest.partition("]")[0] or 0) or self.random.randrange(4)
            return [self.value(base) for _ in range(length)]
        return self.value(base)

    def value(self, kind: str) -> Any:
        """Return a value of a schema's type."""
        pick = self.random
        if kind == "Tensor":
            return self.tensor()
        if kind in ("int", "SymInt"):
            return self.small()
        if kind in ("float", "number", "Scalar"):
            return self.real() if pick.random() < 0.5 else self.integer()
        if kind == "bool":
            return pick.random() < 0.5
        if kind == "str":
            return pick.choice(WORDS)
        if kind == "ScalarType":
            return getattr(gb, pick.choice(DTYPES))
        if kind == "Device":
            return pick.choice(("cpu", "meta", "cpu:0", "nowhere"))
        if kind == "MemoryFormat":
            return pick.choice((gb.contiguous_format, gb.preserve_format, gb.channels_last))
        if kind == "Layout":
            return gb.strided
        return None if pick.random() < 0.5 else self.junk()


class Call(NamedTuple):
    """A public function or method and the arguments of the schemas that it may have."""

    name: str
    function: Callable[..., Any]
    schemas: tuple[tuple[Argument, ...], ...]


def surface() -> list[Call]:
    """Return all calls to try: functions of the module and its submodules, and methods of Tensor."""
    schemas: dict[str, list[tuple[Argument, ...]]] = {}
    for row in load().values():
        for text in filter(None, (row.schema, row.inplace, row.out)):
            schema = parse(text)
            for name in {schema.name, *(row.aliases if text == row.schema else ())}:
                schemas.setdefault(name, []).append(tuple(schema.arguments))
    found: list[Call] = []

    def add(prefix: str, owner: Any, method: bool) -> None:
        for name in sorted(owner.__all__ if "__all__" in vars(owner) and owner is not gb else dir(owner)):
            if name in UNSAFE or (name.startswith("_") and not (method and name in _DUNDERS)):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = getattr(owner, name, None)
            if not callable(function) or isinstance(function, type):
                continue
            full = prefix.replace("linalg.", "linalg_").replace("fft.", "fft_").replace("special.", "special_") + name
            known = schemas.get(full if not method else name) or schemas.get(name) or [()]
            found.append(Call(("Tensor." if method else prefix) + name, function, tuple(known)))

    add("", gb, False)
    for module in MODULES:
        add(module + ".", functools.reduce(getattr, module.split("."), gb), False)
    add("", gb.Tensor, True)
    return found


_DUNDERS = frozenset(
    """__add__ __radd__ __iadd__ __sub__ __rsub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __rpow__ __matmul__
    __and__ __or__ __xor__ __lshift__ __rshift__ __invert__ __neg__ __abs__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __getitem__ __setitem__ __len__ __bool__ __float__ __int__ __complex__ __index__ __contains__ __iter__ __repr__
    """.split()
)


def arguments(draw: Draw, call: Call) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments for a call."""
    draw.near = draw.random.choice(SIZES)
    schema = draw.random.choice(call.schemas)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for place, argument in enumerate(schema):
        if place == 0 and call.name.startswith("Tensor."):
            positional.append(draw.tensor())
            continue
        if argument.default is not None and draw.random.random() < 0.5:
            continue
        if argument.kwarg_only or len(positional) < place or draw.random.random() < 0.1:
            keywords[argument.name] = draw.argument(argument)
        else:
            positional.append(draw.argument(argument))
    if not schema:
        positional = [draw.tensor()] if call.name.startswith("Tensor.") else []
        positional += [draw.junk() for _ in range(draw.random.randrange(3))]
    if draw.random.random() < 0.02:
        keywords[draw.random.choice(("out", "dim", "dtype", "self", "input", "nonsense"))] = draw.junk()
    return positional, keywords


BEYOND_64_BITS = ("int too big to convert", "can't convert negative int to unsigned")
"""What PyTorch and the engine say of an int that is too big or too small."""


def is_deliberate(call: Call, error: BaseException) -> bool:
    """Return whether an error was raised on purpose: by a ``raise`` statement of the engine, or at the call itself."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = frames[-1]
    if len(frames) == 1:
        return True
    if type(error) in (RuntimeError, NotImplementedError):
        return "gaugeblock" in inner.filename  # the interpreter itself raises neither class in straight code
    if isinstance(error, OverflowError) and str(error) in BEYOND_64_BITS:
        return True
    if isinstance(error, TypeError) and _misfit(call, str(error)):
        return True
    if "gaugeblock" not in inner.filename and not inner.filename.startswith("<"):
        return False
    line = linecache.getline(inner.filename, inner.lineno or 0).strip()
    return line.startswith("raise") or _within_raise(inner.filename, inner.lineno or 0)


def _misfit(call: Call, message: str) -> bool:
    """Return whether a message is Python's own about arguments that do not fit the signature of the function called."""
    name = re.escape(call.name.rpartition(".")[2])
    return re.match(rf"(\w+\.)?{name}\(\) (missing|takes|got an unexpected|got multiple|got some)", message) is not None


@functools.lru_cache(maxsize=4096)
def _within_raise(filename: str, line: int) -> bool:
    """Return whether a line belongs to a ``raise`` statement of several lines."""
    source = "".join(linecache.getlines(filename))
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Raise) and node.lineno <= line <= (node.end_lineno or line):
                return True
    return False


def described(value: Any) -> str:
    """Return a one-line description of an argument."""
    if isinstance(value, gb.Tensor):
        flags = " conj" * value.is_conj() + " grad" * value.requires_grad + " meta" * value.is_meta
        return f"<{str(value.dtype).partition('.')[2]} {tuple(value.shape)}/{value.stride()}{flags}>"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(described, value)) + "]"
    return repr(value)[:60]


def _overdue(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer after {SECONDS} s")


def judged(call: Call, positional: Sequence[Any], keywords: dict[str, Any]) -> str | None:
    """Make a call; return its fault, or None."""
    signal.alarm(SECONDS)
    try:
        result = call.function(*positional, **keywords)
        if isinstance(result, gb.Tensor):
            repr(result)
    except TimeoutError as error:
        return str(error)
    except RecursionError as error:
        return f"RecursionError: {error}"
    except EXPECTED as error:
        if is_deliberate(call, error):
            return None
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} from {frame.filename.rpartition('/')[2]}:{frame.lineno}: {str(error)[:200]}"
    except MemoryError:
        return None
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} from {frame.filename.rpartition('/')[2]}:{frame.lineno}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return None


def faults(seed: int, number: int, calls: Sequence[Call], note: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Make ``number`` random calls and yield their faults; ``note`` is called before each call with its text."""
    draw = Draw(seed)
    for place in range(number):
        call = draw.random.choice(calls)
        positional, keywords = arguments(draw, call)
        words = [*map(described, positional), *(f"{name}={described(value)}" for name, value in keywords.items())]
        text = f"{call.name}({', '.join(words)})"
        note(f"seed {seed} call {place}: {text}")
        fault = judged(call, positional, keywords)
        if fault is not None:
            yield {"seed": seed, "call": place, "text": text, "fault": fault}


def main() -> None:
    """Run the seeds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--calls", type=int, default=2500)
    parser.add_argument("--journal", default=None)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _overdue)
    warnings.simplefilter("ignore")
    calls = surface()
    with open(options.journal or "/dev/null", "w+b", buffering=0) as journal:

        def note(text: str) -> None:
            line = text.encode(errors="replace")[:500]
            journal.seek(0)
            journal.write(line.ljust(501) + b"\n")

        for seed in range(options.first, options.first + options.count):
            for fault in faults(seed, options.calls, calls, note):
                print(json.dumps(fault), flush=True)
        note("done")
    print(json.dumps({"seeds": options.count, "surface": len(calls)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
