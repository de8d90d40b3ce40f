"""Trains a small perceptron and a small convolutional net on data made here, and reports how the losses fell.

    python examples/training/training.py --out DIR

writes DIR/training.html: for each net its layers, the accuracy reached and the loss curve.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import gaugeblock as gb
from gaugeblock.nn import functional as nn

Tensor = gb.Tensor
Batch = Callable[[int], tuple[Tensor, Tensor]]


class Net(NamedTuple):
    """Parameters by name, and the function of them and a batch of inputs that gives a score for each class."""

    name: str
    parameters: dict[str, Tensor]
    scores: Callable[[Tensor], Tensor]


class Course(NamedTuple):
    """How a training went: the loss of every step, and the share of fresh samples that are told right at the end."""

    net: Net
    losses: list[float]
    accuracy: float


def parameter(*sizes: int, scale: float) -> Tensor:
    """A leaf with normal random numbers of standard deviation `scale`."""
    return (gb.randn(*sizes) * scale).requires_grad_()


def perceptron(width: int = 32) -> Net:
    """Two inputs, two hidden layers, three classes."""
    sizes = (2, width, width, 3)
    parameters: dict[str, Tensor] = {}
    for layer, (into, out) in enumerate(pairwise(sizes)):
        parameters[f"weight{layer}"] = parameter(out, into, scale=(2 / into) ** 0.5)
        parameters[f"bias{layer}"] = gb.zeros(out, requires_grad=True)

    def scores(inputs: Tensor) -> Tensor:
        values = inputs
        for layer in range(3):
            values = nn.linear(values, parameters[f"weight{layer}"], parameters[f"bias{layer}"])
            if layer < 2:
                values = nn.relu(values)
        return values

    return Net("perceptron", parameters, scores)


def convolutional(channels: int = 6) -> Net:
    """Pictures of 12 x 12, two convolutions with pooling and batch normalization between them, two classes."""
    parameters = {
        "first": parameter(channels, 1, 3, 3, scale=0.4),
        "gain": gb.ones(channels, requires_grad=True),
        "shift": gb.zeros(channels, requires_grad=True),
        "second": parameter(channels, channels, 3, 3, scale=0.2),
        "last": parameter(2, channels * 9, scale=0.2),
    }

    def scores(pictures: Tensor) -> Tensor:
        values = nn.conv2d(pictures, parameters["first"], padding=1)
        values = nn.batch_norm(values, None, None, parameters["gain"], parameters["shift"], training=True)
        values = nn.max_pool2d(nn.relu(values), 2)
        values = nn.avg_pool2d(nn.relu(nn.conv2d(values, parameters["second"], padding=1)), 2)
        return nn.linear(values.flatten(1), parameters["last"])

    return Net("convolutional net", parameters, scores)


def spirals(count: int) -> tuple[Tensor, Tensor]:
    """Points on three arms of a spiral, and which arm each is on."""
    classes = gb.randint(0, 3, (count,))
    along = gb.rand(count)
    angle = along * 4 + classes * 2.0944 + gb.randn(count) * 0.1
    return gb.stack([along * angle.cos(), along * angle.sin()], 1), classes


def stripes(count: int) -> tuple[Tensor, Tensor]:
    """Noisy pictures of stripes, upright (class 0) or lying (class 1), of random phase."""
    classes = gb.randint(0, 2, (count,))
    wave = (gb.arange(12.0) + gb.rand(count, 1) * 6).sin().unsqueeze(1)
    pictures = gb.where(classes.reshape(-1, 1, 1) == 0, wave, wave.transpose(1, 2))
    return (pictures + gb.randn(count, 12, 12) * 0.5).unsqueeze(1), classes


def train(net: Net, batch: Batch, steps: int, rate: float, momentum: float = 0.9, size: int = 64) -> Course:
    """Gradient descent with momentum on fresh batches, then the accuracy on one that was never seen."""
    velocity = {name: gb.zeros_like(value) for name, value in net.parameters.items()}
    losses = []
    for _ in range(steps):
        inputs, classes = batch(size)
        loss = nn.cross_entropy(net.scores(inputs), classes)
        loss.backward()
        with gb.no_grad():
            for name, value in net.parameters.items():
                velocity[name].mul_(momentum).add_(value.grad)
                value.sub_(velocity[name], alpha=rate)
                value.grad = None
        losses.append(loss.item())
    inputs, classes = batch(512)
    with gb.no_grad():
        right = net.scores(inputs).argmax(1) == classes
    return Course(net, losses, right.to(gb.float64).mean().item())


def curve(losses: list[float], width: int = 520, height: int = 220, margin: int = 36) -> str:
    """The losses over the steps, as SVG."""
    top = max(losses)
    across, down = width - 2 * margin, height - 2 * margin
    points = " ".join(
        f"{margin + across * step / max(len(losses) - 1, 1):.1f},{height - margin - down * loss / top:.1f}"
        for step, loss in enumerate(losses)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11"><path d="M{margin} {margin} V{height - margin} H{width - margin}" fill="none" stroke="#888"/>'
        f'<text x="4" y="{margin + 4}">{top:.2f}</text><text x="4" y="{height - margin}">0</text>'
        f'<text x="{width - margin}" y="{height - margin + 16}" text-anchor="end">step {len(losses)}</text>'
        f'<polyline points="{points}" fill="none" stroke="#2a6fb0" stroke-width="1.5"/></svg>'
    )


def report(courses: list[Course]) -> str:
    """A page about the trainings."""
    parts = ["<!doctype html><meta charset='utf-8'><title>Training</title>", "<h1>Two nets, trained</h1>"]
    for course in courses:
        count = sum(value.numel() for value in course.net.parameters.values())
        parts.append(
            f"<h2>{escape(course.net.name)}</h2><p>{count} parameters; loss {course.losses[0]:.3f} at first, "
            f"{course.losses[-1]:.3f} after {len(course.losses)} steps; {course.accuracy:.1%} of fresh samples right."
            f"</p>{curve(course.losses)}"
        )
    return "\n".join(parts) + "\n"


def courses(steps: int = 300, seed: int = 0) -> list[Course]:
    """Both trainings, from a seed."""
    gb.manual_seed(seed)
    return [train(perceptron(), spirals, steps, 0.05), train(convolutional(), stripes, max(steps // 3, 1), 0.02)]


def main(argv: list[str] | None = None) -> Any:
    """Train, write the page, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("training"), help="folder of the page")
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args(argv)
    found = courses(given.steps)
    given.out.mkdir(parents=True, exist_ok=True)
    place = given.out / "training.html"
    place.write_text(report(found), encoding="utf-8")
    for course in found:
        print(f"{course.net.name}: loss {course.losses[0]:.3f} -> {course.losses[-1]:.3f}, {course.accuracy:.1%} right")
    print(f"written: {place}")


if __name__ == "__main__":
    main()
