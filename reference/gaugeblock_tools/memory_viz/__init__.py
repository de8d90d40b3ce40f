"""Device memory drawn over time and segment by segment, as HTML pages that load nothing."""
