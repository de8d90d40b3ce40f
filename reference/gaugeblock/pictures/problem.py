"""A user's mistake in what is to be drawn: one line, and the exit status it leads to."""

from __future__ import annotations


class PictureProblem(ValueError):
    """The expression cannot be drawn; the text names the part, what was given and what is allowed."""

    exit_status = 2
