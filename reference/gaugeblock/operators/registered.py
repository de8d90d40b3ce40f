"""Importing this module declares every operator of the spec and registers the kernels there are."""

from __future__ import annotations

from .pointwise import register_pointwise
from .registration import declare

declare()
register_pointwise()

from . import conversion, copy, fill  # noqa: E402

MODULES = (copy, conversion, fill)
