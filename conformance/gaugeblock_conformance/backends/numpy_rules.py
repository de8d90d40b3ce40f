"""Rules of NumPy's own: where its documentation differs from the spec, or leaves a result open."""

from __future__ import annotations

from ..own_rules import OwnRule

_PAGES = "https://numpy.org/doc/stable/reference"

POWER = OwnRule(
    "values", ("pow", "__pow__"), ("infinite operand",),
    sentence="Negative values raised to a non-integral value will return nan.",
    source=f"{_PAGES}/generated/numpy.power.html",
)  # fmt: skip
"""Also of the libraries whose functions are NumPy's."""

RULES = (
    POWER,
    OwnRule("addresses", ("*",), sentence="(The page lets users set the allocator, and promises no alignment.)",
            source=f"{_PAGES}/c-api/data_memory.html"),
    OwnRule("texts", ("*",), sentence="(No page gives the text of an error.)", source=f"{_PAGES}/index.html"),
    OwnRule(
        "refusals", ("*",), (TypeError,),
        sentence="(Pages ask for an int, which Python's True is, and promise no error.)",
        source=f"{_PAGES}/index.html",
    ),
    OwnRule(
        "refusals", ("frombuffer",), (ValueError,),
        sentence="count: Number of items to read. -1 means all data in the buffer. (The page promises no error.)",
        source=f"{_PAGES}/generated/numpy.frombuffer.html",
    ),
)  # fmt: skip
