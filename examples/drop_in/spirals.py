"""A perceptron learns which arm of a spiral a point is on: nn.Module, nn.Linear, cross_entropy, Adam."""

import torch
from torch import nn
from torch.nn import functional as F


class Perceptron(nn.Module):
    """Two inputs, a hidden layer, three classes."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.hidden = nn.Linear(2, width)
        self.scores = nn.Linear(width, 3)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.scores(torch.tanh(self.hidden(points)))


def spirals(points: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points on three arms, and the arm of each point."""
    along = torch.linspace(0.2, 2.0, points).repeat(3)
    arm = torch.arange(3).repeat_interleave(points)
    angle = 1.5 * along + 2 * torch.pi / 3 * arm
    return torch.stack([along * angle.cos(), along * angle.sin()], dim=1), arm


def main() -> None:
    model = Perceptron()
    with torch.no_grad():  # values that do not depend on a random generator
        for shift, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.sin(torch.arange(parameter.numel()) * 1.7 + shift).view_as(parameter) * 0.7)
    points, arm = spirals()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for step in range(201):
        loss = F.cross_entropy(model(points), arm)
        if step % 50 == 0:
            right = (model(points).argmax(1) == arm).float().mean()
            print(f"step {step:3d}  loss {loss.item():.3f}  right {right.item():.2f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
