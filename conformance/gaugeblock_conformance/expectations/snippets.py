"""What the snippets of expectation rows show on the peers that are installed here."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gaugeblock_spec.temporary_folder import TemporaryFolder

from ..problem import UsageProblem

SECONDS = 60.0
PROGRAM = Path(__file__).with_name("forked.py")
LATE = {"torch": ("torch._decomp.decompositions_for_jvp",)}
"""Modules that a peer imports by itself when an operator has no forward derivative: a second in each snippet."""


def show(snippets: Sequence[str], seconds: float = SECONDS) -> list[str]:
    """What each snippet shows in a process of its own: printed lines, then the exception or signal that ends it.

    Args:
        snippets: programs; each process is a fork of one that has imported the modules they name and done nothing.
        seconds: the time for each.

    Raises:
        UsageProblem: where processes cannot be forked, or the forking one ended early.
    """
    if not hasattr(os, "fork"):
        raise UsageProblem("snippets of expectation files can be run where processes can be forked")
    named = dict.fromkeys(name for snippet in snippets for name in imported(snippet))
    modules = [*named, *(late for name in named for late in LATE.get(name, ()))]
    asked = {"modules": modules, "snippets": list(snippets), "seconds": seconds}
    with TemporaryFolder("gaugeblock-snippets-") as folder:
        done = subprocess.run(
            [sys.executable, str(PROGRAM)], input=json.dumps(asked), capture_output=True, text=True, cwd=folder
        )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise UsageProblem(f"the process that runs snippets ended: {last}")
    shown: list[str] = json.loads(done.stdout)
    return shown


def imported(snippet: str) -> list[str]:
    """The top-level names of the modules that a snippet imports; none where it is no Python.

    >>> imported("import torch.nn as nn\\nfrom numpy import ones")
    ['torch', 'numpy']
    """
    try:
        tree = ast.parse(snippet)
    except SyntaxError:
        return []
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module.partition(".")[0])
    return names


def same(got: str, shown: str) -> bool:
    """Return whether a snippet showed what its row says; a line of ``got`` that ends in ``...`` stands for all that
    begin so.

    >>> same("1\\nRuntimeError: no...", "1\\nRuntimeError: no memory")
    True
    """
    wanted, seen = got.strip().splitlines(), shown.strip().splitlines()
    return len(wanted) == len(seen) and all(map(_fits, wanted, seen))


def _fits(wanted: str, seen: str) -> bool:
    return seen.startswith(wanted[:-3]) if wanted.endswith("...") else wanted.rstrip() == seen.rstrip()
