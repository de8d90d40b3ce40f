"""Records as JSON: one as it is, several in one document that ``gaugeblock report`` reads again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .record import BUNDLE, Record


def render(records: Sequence[Record], colour: bool = False) -> str:
    """The document (``colour`` has no meaning here). What was read is what is written, hostile text included."""
    found = records[0] if len(records) == 1 else {"schema": BUNDLE, "records": list(records)}
    return json.dumps(found, indent=1) + "\n"
