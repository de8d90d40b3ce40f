"""Runs snippets, one after the other, in one process, so that kernels are compiled once.

Those that change what lasts get a fork of their own.

Reads a list of texts as JSON from its input and writes a list of texts: what each raised, nothing where it held.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from typing import Any

LASTING = ("__enter__", "set_default_dtype", "set_num_threads", "use_deterministic_algorithms")
LIMIT = 10
"""Seconds after which a fork is ended."""


def _run(snippet: str) -> str:
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(snippet, "snippet", "exec"), names)
    except BaseException:
        return traceback.format_exc()[-3000:]
    finally:
        # What a snippet declares stays until its process ends.
        if "define_operator" in snippet or "declare_operator" in snippet:
            for kind in ("operators", "declarations"):
                names["backend"].call(f"release_{kind}")
    return ""


def _run_apart(snippet: str) -> str:
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(here)
        signal.alarm(LIMIT)
        os.write(there, _run(snippet).encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return said or (f"status {status}" if status else "")


def main() -> None:
    """Run what stands in the input."""
    texts = json.load(sys.stdin)
    json.dump([_run_apart(text) if any(name in text for name in LASTING) else _run(text) for text in texts], sys.stdout)


if __name__ == "__main__":
    main()
