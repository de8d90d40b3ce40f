"""``gaugeblock new-backend NAME``: write an adapter that already runs."""

from __future__ import annotations

import argparse
import keyword
from importlib import resources
from pathlib import Path

from ..discovery import adapter_names
from ..problem import UsageProblem


class NewBackend:
    """The subcommand."""

    help = "write an adapter for your own backend that already runs (on NumPy, until you replace it)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="name of the backend: lower-case letters, digits, _ and -")
        parser.add_argument("--dir", type=Path, default=Path(), metavar="DIR", help="folder to write to (here)")

    def run(self, args: argparse.Namespace) -> int:
        module = args.name.replace("-", "_")
        if keyword.iskeyword(module):
            raise UsageProblem(f"backend name {args.name!r}: that is a word of Python's own")
        if not module.isidentifier() or not module.islower() or not module.isascii():
            raise UsageProblem(
                f"backend name {args.name!r}: allowed are lower-case letters, digits, _ and -, starting with a letter"
            )
        file, class_name = adapter_names(args.name)
        path = args.dir / file
        try:
            args.dir.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(source(args.name, class_name, path))
        except FileExistsError as error:
            raise UsageProblem(f"{path} exists already; nothing was written") from error
        except OSError as error:
            raise UsageProblem(f"--dir {args.dir}: cannot write there: {error.strerror}") from error
        print(f"{path} is written and runs:\n")
        print(f"    gaugeblock validate {path}:{class_name} --budget quick\n")
        print("Its first lines say how to put your own backend in.")
        return 0


def source(name: str, class_name: str, path: Path) -> str:
    """The template's text for a backend called ``name``."""
    text = (resources.files(__package__) / "backend_template.py").read_text(encoding="utf-8")
    return text.replace("TemplateBackend", class_name).replace("TEMPLATE_FILE", str(path)).replace("TEMPLATE", name)


command = NewBackend()
