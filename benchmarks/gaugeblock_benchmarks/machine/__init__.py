"""The machine that figures come from: what it is, and how fast it can be."""
