"""Which module of `numeric` holds which operator."""

from __future__ import annotations

from .deferred import register_deferred

KERNELS: dict[str, str] = {}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {
    "distances": "dist",
    "trapezoids": """trapezoid.x trapezoid.dx trapz.x trapz.dx cumulative_trapezoid.x cumulative_trapezoid.dx""",
}
"""Operators made of others."""

register_deferred("numeric", KERNELS)
register_deferred("numeric", COMPOSITES, "CompositeImplicitAutograd")
