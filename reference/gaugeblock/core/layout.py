"""Layouts: how a tensor's elements are kept (strided, or one of the sparse forms)."""

from __future__ import annotations

from typing import Any


class Layout:
    """A layout; instances are the constants of this module, compared by ``is``."""

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"gaugeblock.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return layout_by_name, (self.name,)


strided = Layout("strided")
sparse_coo = Layout("sparse_coo")
sparse_csr = Layout("sparse_csr")
sparse_csc = Layout("sparse_csc")
sparse_bsr = Layout("sparse_bsr")
sparse_bsc = Layout("sparse_bsc")
_mkldnn = Layout("_mkldnn")

LAYOUTS: dict[str, Layout] = {
    layout.name: layout for layout in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, _mkldnn)
}
UPSTREAM_NAMES = {
    strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc",
    sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc", _mkldnn: "Mkldnn",
}  # fmt: skip
"""Layout -> its word in PyTorch's messages."""


def layout_by_name(name: str) -> Layout:
    """The layout called `name`; KeyError when there is none."""
    return LAYOUTS[name]
