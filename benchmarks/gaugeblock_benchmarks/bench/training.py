"""Training steps as tasks: forward pass, loss, backward pass and update, over a backend's operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend, Unsupported
from gaugeblock_conformance.backend_autograd import NoGrad

from ..subject import function_of
from .task import NamedTask, Ready, ready_of

OVERLOADS = {
    "add": "add.Tensor", "add_": "add_.Tensor", "add_number_": "add_.Scalar", "flatten": "flatten.using_ints",
    "mean": "mean.dim", "mul": "mul.Tensor", "scale": "mul.Scalar", "scale_": "mul_.Scalar", "softmax": "softmax.int",
    "transpose": "transpose.int",
}  # fmt: skip
"""Operators by their names in a model, where the two differ."""


class Model:
    """The operators of a backend by name, and the parameters that a step trains.

    Parameters and inputs are drawn from a seed, the same for every backend.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._random = np.random.default_rng(0)
        self.parameters: list[Any] = []
        self.sizes: list[tuple[int, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function, _ = function_of(self._backend, OVERLOADS.get(name, name))
        setattr(self, name, function)
        return function

    def parameter(self, *sizes: int) -> Any:
        """A new parameter, drawn evenly from +-1 / sqrt(number of inputs)."""
        bound = 1 / sqrt(prod(sizes[1:]) or 1)
        return self._trained(self._random.uniform(-bound, bound, sizes).astype(np.float32))

    def constant(self, value: float, *sizes: int) -> Any:
        """A new parameter of equal elements."""
        return self._trained(np.full(sizes, value, np.float32))

    def _trained(self, values: Any) -> Any:
        self.parameters.append(self._backend.from_numpy(values, requires_grad=True))
        self.sizes.append(values.shape)
        return self.parameters[-1]

    def zeros(self, *sizes: int) -> Any:
        """Zeros that are not trained."""
        return self._backend.from_numpy(np.zeros(sizes, np.float32))

    def ones(self, *sizes: int) -> Any:
        """Ones that are not trained."""
        return self._backend.from_numpy(np.ones(sizes, np.float32))

    def input(self, *sizes: int) -> Any:
        """Normally distributed numbers."""
        return self._backend.from_numpy(self._random.standard_normal(sizes, np.float32))

    def classes(self, count: int, *sizes: int) -> Any:
        """Numbers of classes below `count`."""
        return self._backend.from_numpy(self._random.integers(0, count, sizes))


Loss = Callable[[], Any]
Update = Callable[[Model], Callable[[], None]]


def linear(model: Model, inputs: int, outputs: int) -> Callable[[Any], Any]:
    """A layer with weights and a bias."""
    weight, bias = model.parameter(outputs, inputs), model.constant(0.0, outputs)
    return lambda x: model.linear(x, weight, bias)


def layer_norm(model: Model, width: int) -> Callable[[Any], Any]:
    """Normalisation of the last dim, with weights and a bias."""
    weight, bias = model.constant(1.0, width), model.constant(0.0, width)
    return lambda x: model.layer_norm(x, (width,), weight, bias)


def convolution(model: Model, inputs: int, outputs: int) -> Callable[[Any], Any]:
    """A convolution of 3x3 that keeps the size, and batch normalisation in training."""
    weight = model.parameter(outputs, inputs, 3, 3)
    scale, shift = model.constant(1.0, outputs), model.constant(0.0, outputs)
    mean, variance = model.zeros(outputs), model.ones(outputs)

    def layer(x: Any) -> Any:
        filtered = model.conv2d(x, weight, None, (1, 1), (1, 1))
        return model.batch_norm(filtered, scale, shift, mean, variance, True, 0.1, 1e-5, True)

    return layer


def sum_of_products(model: Model, size: int) -> Loss:
    """``(x * w + b).sum()``."""
    x, w, b = (model.parameter(size) for _ in range(3))
    return lambda: model.sum(model.add(model.mul(x, w), b))


def perceptron(model: Model, batch: int, width: int) -> Loss:
    """Two hidden layers with relu, ten classes."""
    first, second, head = linear(model, width, width), linear(model, width, width), linear(model, width, 10)
    x, target = model.input(batch, width), model.classes(10, batch)
    return lambda: model.cross_entropy_loss(head(model.relu(second(model.relu(first(x))))), target)


def feed_forward(model: Model, width: int) -> Callable[[Any], Any]:
    """The layers of a transformer behind its attention."""
    wide, narrow = linear(model, width, 4 * width), linear(model, 4 * width, width)
    return lambda x: narrow(model.gelu(wide(x)))


def transformer(model: Model, batch: int, length: int, width: int) -> Loss:
    """A block of one head: normalisation, attention by products and softmax, feed-forward layers, two residuals."""
    norms = [layer_norm(model, width) for _ in range(2)]
    query, key, value, out = (linear(model, width, width) for _ in range(4))
    layers, x = feed_forward(model, width), model.input(batch, length, width)
    scale = 1 / sqrt(width)

    def loss() -> Any:
        normal = norms[0](x)
        scores = model.matmul(query(normal), model.transpose(key(normal), 1, 2))
        shares = model.softmax(model.scale(scores, scale), -1)
        y = model.add(x, out(model.matmul(shares, value(normal))))
        return model.sum(model.add(y, layers(norms[1](y))))

    return loss


def gpt(model: Model, batch: int, length: int, width: int) -> Loss:
    """Embeddings, a block of four heads with causal attention, and the loss of the next token of 256."""
    tokens, places = model.parameter(256, width), model.parameter(length, width)
    norms = [layer_norm(model, width) for _ in range(3)]
    joined, out, head = linear(model, width, 3 * width), linear(model, width, width), linear(model, width, 256)
    layers, heads = feed_forward(model, width), 4
    given, target = model.classes(256, batch, length), model.classes(256, batch * length)

    def by_head(x: Any) -> Any:
        return model.transpose(model.view(x, (batch, length, heads, width // heads)), 1, 2)

    def loss() -> Any:
        x = model.add(model.embedding(tokens, given), places)
        query, key, value = (by_head(part) for part in model.chunk(joined(norms[0](x)), 3, -1))
        seen = model.scaled_dot_product_attention(query, key, value, None, 0.0, True)
        x = model.add(x, out(model.reshape(model.transpose(seen, 1, 2), (batch, length, width))))
        x = model.add(x, layers(norms[1](x)))
        return model.cross_entropy_loss(model.view(head(norms[2](x)), (batch * length, 256)), target)

    return loss


def convolutional(model: Model, batch: int) -> Loss:
    """Two convolutions with batch normalisation, relu and pooling on images of 3x32x32, ten classes."""
    first, second, head = convolution(model, 3, 16), convolution(model, 16, 32), linear(model, 32 * 8 * 8, 10)
    x, target = model.input(batch, 3, 32, 32), model.classes(10, batch)

    def loss() -> Any:
        y = model.max_pool2d(model.relu(first(x)), (2, 2))
        y = model.max_pool2d(model.relu(second(y)), (2, 2))
        return model.cross_entropy_loss(head(model.flatten(y, 1)), target)

    return loss


def residual(model: Model, batch: int, channels: int) -> Loss:
    """A ResNet block on images of 16x16, averaged over the image, ten classes."""
    first, second = (convolution(model, channels, channels) for _ in range(2))
    head = linear(model, channels, 10)
    x, target = model.input(batch, channels, 16, 16), model.classes(10, batch)

    def loss() -> Any:
        y = model.relu(model.add(second(model.relu(first(x))), x))
        return model.cross_entropy_loss(head(model.flatten(model.adaptive_avg_pool2d(y, (1, 1)), 1)), target)

    return loss


def embedding(model: Model, batch: int, length: int, width: int) -> Loss:
    """The mean of the embeddings of words, of 1000, and a linear layer of ten classes."""
    table, head = model.parameter(1000, width), linear(model, width, 10)
    words, target = model.classes(1000, batch, length), model.classes(10, batch)
    return lambda: model.cross_entropy_loss(head(model.mean(model.embedding(table, words), (1,))), target)


def recurrent(model: Model, batch: int, width: int, steps: int = 20) -> Loss:
    """A recurrent cell with tanh, unrolled over the steps."""
    into, on = linear(model, width, width), linear(model, width, width)
    inputs, start = [model.input(batch, width) for _ in range(steps)], model.zeros(batch, width)

    def loss() -> Any:
        state = start
        for x in inputs:
            state = model.tanh(model.add(into(x), on(state)))
        return model.sum(state)

    return loss


def lstm(model: Model, batch: int, width: int, steps: int = 20) -> Loss:
    """An LSTM cell, unrolled over the steps."""
    into, on = linear(model, width, 4 * width), linear(model, width, 4 * width)
    inputs, start = [model.input(batch, width) for _ in range(steps)], model.zeros(batch, width)

    def loss() -> Any:
        state = memory = start
        for x in inputs:
            gates = model.chunk(model.add(into(x), on(state)), 4, 1)
            let_in, kept, shown = (model.sigmoid(gates[k]) for k in (0, 1, 3))
            memory = model.add(model.mul(kept, memory), model.mul(let_in, model.tanh(gates[2])))
            state = model.mul(shown, model.tanh(memory))
        return model.sum(state)

    return loss


def no_update(model: Model) -> Callable[[], None]:
    """Set the gradients to None."""
    clear = model.set_grad

    def update() -> None:
        for leaf in model.parameters:
            clear(leaf, None)

    return update


def descent(model: Model) -> Callable[[], None]:
    """Gradient descent."""
    grad, clear, add_ = model.grad, model.set_grad, model.add_

    def update() -> None:
        for leaf in model.parameters:
            add_(leaf, grad(leaf), alpha=-1e-3)
            clear(leaf, None)

    return update


def momentum(model: Model) -> Callable[[], None]:
    """Gradient descent with momentum."""
    grad, clear, add_, scale_ = model.grad, model.set_grad, model.add_, model.scale_
    speeds = [model.zeros(*sizes) for sizes in model.sizes]

    def update() -> None:
        for leaf, speed in zip(model.parameters, speeds, strict=True):
            add_(scale_(speed, 0.9), grad(leaf))
            add_(leaf, speed, alpha=-1e-3)
            clear(leaf, None)

    return update


def adam(model: Model) -> Callable[[], None]:
    """Adam, its means corrected for having begun at zero."""
    grad, clear, add_, sqrt_of, add_number_ = model.grad, model.set_grad, model.add_, model.sqrt, model.add_number_
    scale_, addcmul_, addcdiv_ = model.scale_, model.addcmul_, model.addcdiv_
    means, squares = ([model.zeros(*sizes) for sizes in model.sizes] for _ in range(2))
    count = 0

    def update() -> None:
        nonlocal count
        count += 1
        step, spread = 1e-3 / (1 - 0.9**count), (1 - 0.999**count) ** -0.5
        for leaf, mean, square in zip(model.parameters, means, squares, strict=True):
            slope = grad(leaf)
            add_(scale_(mean, 0.9), slope, alpha=0.1)
            addcmul_(scale_(square, 0.999), slope, slope, value=0.001)
            addcdiv_(leaf, mean, add_number_(scale_(sqrt_of(square), spread), 1e-8), value=-step)
            clear(leaf, None)

    return update


@dataclass(frozen=True)
class Training:
    """A model with its sizes, and the update of its parameters; without one only the forward pass is done."""

    loss: Callable[..., Loss]
    sizes: tuple[int, ...]
    update: Update | None = descent


TRAININGS = {
    "(x*w+b).sum() 16, forward": Training(sum_of_products, (16,), None),
    "(x*w+b).sum() 16": Training(sum_of_products, (16,), no_update),
    "perceptron 8x32": Training(perceptron, (8, 32)),
    "perceptron 64x256": Training(perceptron, (64, 256)),
    "perceptron 256x1024": Training(perceptron, (256, 1024)),
    "perceptron 64x256, momentum": Training(perceptron, (64, 256), momentum),
    "perceptron 64x256, Adam": Training(perceptron, (64, 256), adam),
    "transformer 1x16x32": Training(transformer, (1, 16, 32)),
    "transformer 4x64x128": Training(transformer, (4, 64, 128)),
    "transformer 8x128x256": Training(transformer, (8, 128, 256)),
    "GPT 4x64x128": Training(gpt, (4, 64, 128)),
    "convolutions 1x3x32x32": Training(convolutional, (1,)),
    "convolutions 16x3x32x32": Training(convolutional, (16,)),
    "convolutions 64x3x32x32": Training(convolutional, (64,)),
    "ResNet 8x32x16x16": Training(residual, (8, 32)),
    "embedding 32x16x64": Training(embedding, (32, 16, 64)),
    "RNN 8x64, 20 steps": Training(recurrent, (8, 64)),
    "LSTM 8x64, 20 steps": Training(lstm, (8, 64)),
}
"""Steps by name; in a name: batch and sizes."""


class TrainingTask(NamedTask):
    """One of TRAININGS."""

    @property
    def needed_bytes(self) -> int:
        return 1 << 28

    def prepare(self, backend: Backend) -> Ready:
        if "autograd" not in backend.capabilities:
            raise Unsupported(self.name, "needs the capability autograd")
        training, model = TRAININGS[self.name], Model(backend)
        forward = training.loss(model, *training.sizes)
        if training.update is None:
            return ready_of(backend, forward)
        update, no_grad = training.update(model), NoGrad()

        def step() -> Any:
            loss = forward()
            model.backward(loss)
            inside = model.enter(no_grad)
            update()
            model.leave(inside)
            return loss

        return ready_of(backend, step)


def training_task(name: str) -> TrainingTask:
    """Return the task of one of TRAININGS."""
    return TrainingTask(name, "training", "training", prod(TRAININGS[name].sizes))


def training_tasks() -> list[TrainingTask]:
    """All steps."""
    return [training_task(name) for name in TRAININGS]
