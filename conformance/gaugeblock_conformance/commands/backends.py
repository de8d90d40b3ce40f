"""``gaugeblock backends``: what is installed, and whether it loads."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from .. import discovery
from ..problem import UsageProblem
from ..runner import suite as suites
from ..runner.pool import Limits, Pool


class Backends:
    """The subcommand. Every backend is loaded in a process of its own."""

    help = "list the installed backends with version and capabilities, or why they do not load"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="BACKEND", help="only these (default: all installed ones)")

    def run(self, args: argparse.Namespace) -> int:
        names = args.names or list(discovery.installed())
        if not names:
            raise UsageProblem(f"no backend is installed (entry-point group {discovery.GROUP})")
        status = 0
        for name in names:
            resolved = discovery.resolve(name)
            print(f"{name}  ({resolved.module}:{resolved.attribute})")
            try:
                facts = backend_facts(name)
            except UsageProblem as problem:
                print(f"  does not load: {str(problem).removeprefix(f'backend {name!r} cannot be loaded: ')}")
                status = problem.exit_status if args.names else status
                continue
            print(f"  {facts['name']} {facts['version']} on {facts['device']}")
            text = f"{len(facts['capabilities'])} capabilities: {' '.join(facts['capabilities'])}"
            print(textwrap.fill(text, 98, initial_indent="  ", subsequent_indent="    "))
        return status


def backend_facts(name: str) -> dict[str, Any]:
    """Name, version, device, capabilities and packages of a backend, asked in a worker process.

    Raises:
        BackendProblem: it cannot be loaded.
    """
    setup = {"backend": name, "suite": suites.EMPTY, "budget": "quick", "seed": 0}
    with Pool({}, 1, Limits(60.0, 0), **setup) as pool:
        return pool.backend()


command = Backends()
