"""The report as one HTML file that needs nothing else: no network, no other file."""

from .page import render

__all__ = ["render"]
