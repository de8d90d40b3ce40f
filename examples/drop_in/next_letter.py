"""A recurrent cell learns to continue a text: embedding, detach between pieces, clipped gradients, AdamW."""

import torch
import torch.nn.functional as F

TEXT = "the cat sat on the mat and the rat sat on the hat and the cat ran " * 2
LETTERS = sorted(set(TEXT))


def fixed(*size: int, scale: float) -> torch.Tensor:
    """Return a leaf with values that do not depend on a random generator."""
    numbers = torch.cos(torch.arange(1.0, 1 + torch.Size(size).numel()) * 1.9)
    return numbers.mul_(scale).view(size).requires_grad_(True)


def main() -> None:
    width = 24
    table = fixed(len(LETTERS), width, scale=0.5)
    inwards, onwards = fixed(width, width, scale=0.2), fixed(width, width, scale=0.2)
    outwards, bias = fixed(len(LETTERS), width, scale=0.3), torch.zeros(len(LETTERS), requires_grad=True)
    parameters = [table, inwards, onwards, outwards, bias]
    numbers = torch.tensor([LETTERS.index(letter) for letter in TEXT])
    optimizer = torch.optim.AdamW(parameters, lr=0.01)
    for epoch in range(13):
        state, losses = torch.zeros(width), []
        for piece in numbers.split(22):
            state, outputs = state.detach(), []
            for letter in F.embedding(piece[:-1], table):
                state = torch.tanh(F.linear(letter, inwards) + F.linear(state, onwards))
                outputs.append(F.linear(state, outwards, bias))
            loss = F.nll_loss(F.log_softmax(torch.stack(outputs), dim=-1), piece[1:])
            optimizer.zero_grad()
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in parameters]).norm()
            for p in parameters:
                p.grad.mul_(torch.clamp(1.0 / norm, max=1.0))
            optimizer.step()
            losses.append(loss.detach())
        if epoch % 4 == 0:
            print(f"epoch {epoch:2d}  loss {torch.stack(losses).mean().item():.2f}")


if __name__ == "__main__":
    main()
