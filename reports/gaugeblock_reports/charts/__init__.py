"""Benchmark records as charts in SVG: ``charts(record)`` gives figures, each with a title, a caption and its drawing.

A page puts ``figure.html()`` where it wants it. The drawings take their colours from the page's CSS variables
``--ink --soft --rule`` and ``--series-0`` to ``--series-5`` where it sets them, follow its ``color-scheme``, and are
as wide as their place. Every text in them is escaped.
"""

from .all_charts import charts
from .figure import Figure

__all__ = ["Figure", "charts"]
