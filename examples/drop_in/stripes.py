"""A convolutional net learns the direction of stripes: conv2d, batch_norm, max_pool2d, SGD with momentum."""

import torch
import torch.nn.functional as F


def pictures(count: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images of 1 x 12 x 12, and the direction of their stripes."""
    upright = torch.arange(count) % 2
    phase = torch.arange(count, dtype=torch.float32).mul(0.37).view(-1, 1, 1)
    waves = torch.sin(torch.arange(12.0).view(1, 1, 12) * 1.3 + phase).expand(count, 12, 12)
    noise = torch.sin(torch.arange(count * 144.0) * 12.9898).view(count, 12, 12) * 0.6
    return (torch.where(upright.view(-1, 1, 1) == 1, waves, waves.mT) + noise).unsqueeze(1), upright


def fixed(*size: int, scale: float) -> torch.Tensor:
    """Return a leaf with values that do not depend on a random generator."""
    numbers = torch.sin(torch.arange(1, 1 + torch.Size(size).numel()) * 2.3)
    return (numbers * scale).reshape(size).requires_grad_()


def main() -> None:
    first, last = fixed(4, 1, 3, 3, scale=0.3), fixed(2, 4 * 5 * 5, scale=0.1)
    gain, shift = torch.ones(4, requires_grad=True), torch.zeros(4, requires_grad=True)
    mean, var = torch.zeros(4), torch.ones(4)

    def scores(batch: torch.Tensor, training: bool) -> torch.Tensor:
        normal = F.batch_norm(F.conv2d(batch, first), mean, var, gain, shift, training=training)
        return F.linear(F.max_pool2d(F.relu(normal), 2).flatten(1), last)

    inputs, upright = pictures()
    optimizer = torch.optim.SGD([first, gain, shift, last], lr=0.05, momentum=0.9, weight_decay=1e-4)
    for step in range(31):
        optimizer.zero_grad()
        loss = F.cross_entropy(scores(inputs, True), upright)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            with torch.no_grad():
                right = (scores(inputs, False).argmax(1) == upright).float().mean()
            print(f"step {step:2d}  loss {loss.item():.3f}  right {right.item():.2f}")


if __name__ == "__main__":
    main()
