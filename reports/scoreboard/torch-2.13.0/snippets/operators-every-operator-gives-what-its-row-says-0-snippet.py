import torch
x17 = torch.tensor([[1.0]], dtype=torch.float32)
y18 = x17.expand((1, 2))
y19, y20 = torch.median(y18, -1)
seen = {repr([y19.tolist(), y20.tolist()])}
for _ in range(50):
    freed0 = torch.tensor([3.0], dtype=torch.float32)
    freed1 = torch.tensor([3], dtype=torch.int64)
    kept0 = torch.tensor([5.0], dtype=torch.float32)
    kept1 = torch.tensor([5], dtype=torch.int64)
    del freed0, freed1
    again_y19, again_y20 = torch.median(y18, -1)
    seen.add(repr([again_y19.tolist(), again_y20.tolist()]))
assert len(seen) == 1
got = y19.tolist()[0]
assert got == 1.0, got
