"""Pictures of memory: over time, and segment by segment, as pages that stand alone."""
