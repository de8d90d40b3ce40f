"""The mark of tests that look at what the call cache keeps."""

from __future__ import annotations

import pytest
from gaugeblock.calls.call_cache import ENABLED

CACHED = pytest.mark.skipif(not ENABLED, reason="the call cache is switched off")
