"""torch.nn.functional's functions."""
