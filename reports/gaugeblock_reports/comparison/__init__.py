"""Two runs beside each other, requirement by requirement: what broke, what was mended, what is no longer checked."""
