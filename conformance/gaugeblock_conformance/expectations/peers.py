"""The expectation files of this package, by peer: ``torch-2.13`` has torch-2.13.toml and gradcheck-torch-2.13.toml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources

from gaugeblock_spec import requirements as spec
from gaugeblock_spec.requirements import Requirement

from ..gradcheck.suite import slow
from ..problem import UsageProblem, unknown
from .expectation import Expectation
from .manifest import rows
from .snippets import SECONDS, same, show

GRADCHECK = "gradcheck-"
DISTRIBUTIONS = {
    "paddle": "paddlepaddle",
    "array_api.numpy": "numpy",
    **dict.fromkeys(("torch-refs", "torch-compile-eager", "torch-compile-aot_eager"), "torch"),
}
"""Peers that PyPI has under another name."""


@dataclass(frozen=True)
class Peer:
    """A backend's version with all rows of its files, in the files' order."""

    name: str
    version: str
    rows: tuple[Expectation, ...]

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def shown(self) -> list[Expectation]:
        """The rows that have a snippet, and so a page."""
        return [row for row in self.rows if row.snippet]

    def installed(self) -> str | None:
        """The version that is installed here, without its local part; None where there is none."""
        try:
            return metadata.version(DISTRIBUTIONS.get(self.name, self.name)).split("+")[0]
        except metadata.PackageNotFoundError:
            return None


@cache
def load() -> dict[str, Peer]:
    """Folder name -> peer. Raises UsageProblem as :func:`.manifest.rows` does."""
    found: dict[str, list[Expectation]] = {}
    known = requirements()
    folder = resources.files(__package__)
    for file in sorted(folder.iterdir(), key=lambda file: (file.name.startswith(GRADCHECK), file.name)):
        if file.name.endswith(".toml"):
            stem = file.name.removesuffix(".toml").removeprefix(GRADCHECK)
            found.setdefault(stem, []).extend(rows(file, known))
    return {stem: Peer(stem.rpartition("-")[0], stem.rpartition("-")[2], tuple(found[stem])) for stem in sorted(found)}


def named(name: str) -> list[Peer]:
    """The peers of a name, with or without version.

    Raises:
        UsageProblem: there is none.
    """
    found = [peer for folder, peer in load().items() if name in (folder, peer.name)]
    if not found:
        raise unknown("peer", name, load())
    return found


@cache
def requirements() -> dict[str, Requirement]:
    """Those of the spec, and those that ``gaugeblock gradcheck`` makes of operators."""
    return {**spec.load(), **slow().requirements}


@dataclass(frozen=True)
class Stale:
    """A row whose snippet shows something else than the row says."""

    row: Expectation
    shown: str

    def __str__(self) -> str:
        return f"{self.row.name}: expected\n{self.row.got}\nand saw\n{self.shown}"


def stale(peer: Peer, seconds: float = SECONDS) -> list[Stale]:
    """Run the snippets of the rows that were tried on the installed version of a peer.

    Raises:
        UsageProblem: the peer is not installed, or no row was tried on that version.
    """
    version = peer.installed()
    if version is None:
        raise UsageProblem(f"{peer.name} is not installed")
    tried = [row for row in peer.shown if version in (name.split("+")[0] for name in row.tried)]
    if not tried:
        raise UsageProblem(f"no row of {peer.folder} was tried on {peer.name} {version}, which is installed")
    shown = show([row.snippet or "" for row in tried], seconds)
    return [Stale(row, seen) for row, seen in zip(tried, shown, strict=True) if not same(row.got or "", seen)]
