"""Helpers of these tests are imported by name; records and pages are made once."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
