"""What a failed check tells: which entry of which Jacobian, with both values."""

from __future__ import annotations

from dataclasses import dataclass

Index = tuple[int, ...]
Number = float | complex
NOTHING_RECORDED = "no result requires grad"


@dataclass(frozen=True)
class Entry:
    """One entry of a Jacobian: of output ``output`` at ``output_index`` by input ``input`` at ``input_index``.

    ``part`` is "real" or "imag" where the output is complex and the two are differentiated apart, else "". By a complex
    input, a reverse-mode derivative is d/dx + i d/dy. In fast mode indices are None: the values are sums over all
    entries with random weights.
    """

    output: int
    input: int
    output_index: Index | None
    input_index: Index | None
    part: str
    numerical: Number
    analytical: Number
    output_sizes: Index

    def __str__(self) -> str:
        part = {"real": "real part of ", "imag": "imaginary part of "}.get(self.part, "")
        return (
            f"{part}output {self.output}{_at(self.output_index)} by input {self.input}{_at(self.input_index)}: "
            f"numerical {_shown(self.numerical)}, analytical {_shown(self.analytical)}"
        )


class GradcheckError(RuntimeError):
    """A derivative is wrong; ``entry`` is the worst one, None where the error is of another kind.

    ``recorded`` is False where no result requires grad, although one depends on an input.
    """

    def __init__(self, message: str, entry: Entry | None = None, recorded: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.entry = entry
        self.recorded = recorded


def _at(index: Index | None) -> str:
    if index is None:
        return ""
    return f"[{', '.join(map(str, index))}]" if index else ""


def _shown(value: Number) -> str:
    return f"{value:.8g}"
