import torch
x1 = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float32)
x2 = torch.tensor([7.0, 8.0, 9.0], dtype=torch.float32)
x5 = torch.tensor([1.0, 2.0], dtype=torch.float32)
x6 = torch.tensor([[1.0]], dtype=torch.float32)
x7 = torch.tensor([5], dtype=torch.int64)
try:
    torch.mm(x1, x1, out=x2)
except Exception:
    pass
try:
    torch.add(x1, x5, out=x2)
except Exception:
    pass
try:
    torch.cat([x1, x6], out=x2)
except Exception:
    pass
try:
    torch.index_select(x1, 0, x7, out=x2)
except Exception:
    pass
got = tuple(x2.shape)
assert got == (3,), got
