"""One step of gradient descent on many 14-64-32-1 networks, written out.

Called by learning.network. The gradient is written out instead of recorded: at 32 rows a step
autograd and the optimizer's bookkeeping cost several times the arithmetic. A test holds the step
against torch.nn, torch.autograd and torch.optim.Adam.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.forward import LAYERS
from training.learning.settings import NetworkSettings

FloatArray = NDArray[np.float64]


class Weights:
    """One flat tensor (networks, 3073) and its layers as views, so that Adam is a few calls."""

    def __init__(self, flat: Tensor) -> None:
        self.flat = flat
        shapes = [
            shape
            for fan_in, fan_out in pairwise(LAYERS)
            for shape in ((fan_in, fan_out), (1, fan_out))
        ]
        parts, start = [], 0
        for height, width in shapes:
            stop = start + height * width
            parts.append(flat[:, start:stop].view(-1, height, width))
            start = stop
        self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = parts

    @staticmethod
    def size() -> int:
        """Parameters of one network."""
        return sum(fan_out * (fan_in + 1) for fan_in, fan_out in pairwise(LAYERS))

    @classmethod
    def draw(cls, generators: Sequence[torch.Generator]) -> "Weights":
        """torch's own start for linear layers: uniform within 1 / sqrt(inputs)."""
        weights = cls(torch.empty(len(generators), cls.size()))
        layers = (
            (weights.w1, weights.b1, LAYERS[0]),
            (weights.w2, weights.b2, LAYERS[1]),
            (weights.w3, weights.b3, LAYERS[2]),
        )
        for index, generator in enumerate(generators):
            for weight, bias, fan_in in layers:
                bound = fan_in**-0.5
                weight[index].uniform_(-bound, bound, generator=generator)
                bias[index].uniform_(-bound, bound, generator=generator)
        return weights


class Descent:
    """Weights, their gradient and Adam; all networks advance together."""

    def __init__(self, weights: Weights, settings: NetworkSettings) -> None:
        self.weights = weights
        self.gradient = Weights(torch.zeros_like(weights.flat))
        self.adam = _Adam(weights.flat, settings)

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        """Step on the mean squared error of x (networks, batch, 14), y (networks, batch, 1).

        Returns:
            (networks,) sum of squared errors before the step.
        """
        w, g = self.weights, self.gradient
        h1, h2, error = self._forward(x, y)
        loss = error.square().sum(dim=(1, 2))
        error.mul_(2.0 / x.shape[1])
        _layer_gradient(h2, error, g.w3, g.b3)
        back = torch.ops.aten.threshold_backward(torch.bmm(error, w.w3.mT), h2, 0)
        _layer_gradient(h1, back, g.w2, g.b2)
        back = torch.ops.aten.threshold_backward(torch.bmm(back, w.w2.mT), h1, 0)
        _layer_gradient(x, back, g.w1, g.b1)
        self.adam.step(g.flat)
        return loss

    def loss(self, x: Tensor, y: Tensor) -> FloatArray:
        """Mean squared error of every network, (networks,) float64."""
        _, _, error = self._forward(x, y)
        return np.asarray(error.square().mean(dim=(1, 2), dtype=torch.float64).numpy())

    def _forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        w = self.weights
        h1 = torch.baddbmm(w.b1, x, w.w1).relu_()
        h2 = torch.baddbmm(w.b2, h1, w.w2).relu_()
        return h1, h2, torch.baddbmm(w.b3, h2, w.w3).sub_(y)


class _Adam:
    """Adam (Kingma and Ba, 2015) with torch's constants, on a flat tensor."""

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, weights: Tensor, settings: NetworkSettings) -> None:
        self.weights = weights
        self.rate = settings.learning_rate
        self.decay = 1.0 - settings.learning_rate * settings.weight_decay
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)
        self.scratch = torch.empty_like(weights)
        self.steps = 0

    def step(self, gradient: Tensor) -> None:
        self.steps += 1
        if self.decay != 1.0:
            self.weights.mul_(self.decay)
        self.mean.lerp_(gradient, 1.0 - self.BETA1)
        self.square.mul_(self.BETA2).addcmul_(gradient, gradient, value=1.0 - self.BETA2)
        correction = (1.0 - self.BETA2**self.steps) ** 0.5
        torch.sqrt(self.square, out=self.scratch)
        self.scratch.div_(correction).add_(self.EPSILON)
        rate = self.rate / (1.0 - self.BETA1**self.steps)
        self.weights.addcdiv_(self.mean, self.scratch, value=-rate)


def _layer_gradient(inputs: Tensor, back: Tensor, weight: Tensor, bias: Tensor) -> None:
    torch.bmm(inputs.mT, back, out=weight)
    torch.sum(back, 1, keepdim=True, out=bias)
