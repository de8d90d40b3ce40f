"""What is measured, how, and against whom: ratios to a peer, interleaved in one process."""
