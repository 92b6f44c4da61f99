"""One step of gradient descent on many 14-64-32-1 networks, written out.

Called by learning.network. The gradient is written out instead of recorded: at 32 rows a step
autograd and the optimizer's bookkeeping cost several times the arithmetic. A test holds the step
against torch.nn, torch.autograd and torch.optim.

A network gets the same bits alone and among others. Nothing here adds up over networks, and the
products of torch.bmm do not depend on how many there are; a test holds it to that.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from models.forward import LAYERS
from training.learning.settings import NetworkSettings

_SHAPES = tuple(
    shape for fan_in, fan_out in pairwise(LAYERS) for shape in ((fan_in, fan_out), (1, fan_out))
)
PARAMETERS = sum(height * width for height, width in _SHAPES)
# Floats: Adam's kernel rounds a remainder below its vectors differently, so there must be none.
_VECTORS = 64
_relu_gradient = torch.ops.aten.threshold_backward.grad_input


class Weights:
    """The layers (networks, in, out) as views of one flat tensor, so that Adam is one call.

    The flat tensor holds layer after layer, each of all networks: bmm is fast only where the
    layer of the next network follows at once.
    """

    def __init__(self, flat: Tensor, networks: int) -> None:
        self.flat = flat
        parts, start = [], 0
        for height, width in _SHAPES:
            stop = start + networks * height * width
            parts.append(flat[start:stop].view(networks, height, width))
            start = stop
        self.parts = tuple(parts)
        self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = parts

    @classmethod
    def zeros(cls, networks: int) -> "Weights":
        """All parameters 0."""
        vectors = -(-networks * PARAMETERS // _VECTORS)
        return cls(torch.zeros(vectors * _VECTORS), networks)

    @classmethod
    def draw(cls, generators: Sequence[torch.Generator]) -> "Weights":
        """torch's own start for linear layers: uniform within 1 / sqrt(inputs)."""
        weights = cls.zeros(len(generators))
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

    def keep(self, other: "Weights", chosen: Tensor) -> None:
        """Take over the networks of `other` that are `chosen`, (networks,) bool."""
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine[chosen] = theirs[chosen]


class Descent:
    """Weights, their gradient and Adam; all networks advance together."""

    def __init__(self, weights: Weights, networks: int, settings: NetworkSettings) -> None:
        self.weights = weights
        self.gradient = Weights.zeros(networks)
        self.adam = _Adam(weights.flat, settings)
        self.scratch: dict[int, _Scratch] = {}
        self.networks = networks

    def step(self, x: Tensor, y: Tensor, error: Tensor) -> None:
        """Step on the mean squared error of x (networks, batch, 14), y (networks, batch, 1).

        Args:
            error: (networks, batch, 1), receives prediction - y before the step.
        """
        w, g, s = self.weights, self.gradient, self._scratch_of(x.shape[1])
        torch.baddbmm(w.b1, x, w.w1, out=s.h1).relu_()
        torch.baddbmm(w.b2, s.h1, w.w2, out=s.h2).relu_()
        # One output: products and sums are faster than a matrix of one column.
        row = w.w3.mT
        torch.sum(torch.mul(s.h2, row, out=s.back2), 2, keepdim=True, out=error)
        error.add_(w.b3).sub_(y)
        torch.mul(error, 2.0 / x.shape[1], out=s.back3)
        torch.sum(torch.mul(s.h2, s.back3, out=s.back2), 1, keepdim=True, out=g.w3.mT)
        torch.sum(s.back3, 1, keepdim=True, out=g.b3)
        torch.mul(s.back3, row, out=s.back2)
        _relu_gradient(s.back2, s.h2, 0, grad_input=s.back2)
        _layer_gradient(s.h1, s.back2, g.w2, g.b2)
        torch.bmm(s.back2, w.w2.mT, out=s.back1)
        _relu_gradient(s.back1, s.h1, 0, grad_input=s.back1)
        _layer_gradient(x, s.back1, g.w1, g.b1)
        self.adam.step(g.flat)

    def predict(self, x: Tensor) -> Tensor:
        """Predict x (networks, rows, 14): (networks, rows, 1)."""
        w = self.weights
        h1 = torch.baddbmm(w.b1, x, w.w1).relu_()
        h2 = torch.baddbmm(w.b2, h1, w.w2).relu_()
        return h2.mul_(w.w3.mT).sum(2, keepdim=True).add_(w.b3)

    def _scratch_of(self, batch: int) -> "_Scratch":
        # Two sizes: the batch, and what is left at the end of an epoch.
        if batch not in self.scratch:
            self.scratch[batch] = _Scratch(self.networks, batch)
        return self.scratch[batch]


class _Scratch:
    """Hidden layers and errors of one batch: new memory in each step would cost a third of it."""

    def __init__(self, networks: int, batch: int) -> None:
        _, first, second, last = LAYERS
        self.h1 = torch.empty(networks, batch, first)
        self.h2 = torch.empty(networks, batch, second)
        self.back1 = torch.empty(networks, batch, first)
        self.back2 = torch.empty(networks, batch, second)
        self.back3 = torch.empty(networks, batch, last)


class _Adam:
    """Adam (Kingma and Ba, 2015) with torch's constants, by the kernel of torch.optim.AdamW.

    The optimizer itself takes longer to call it than the kernel takes for one network.
    """

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, weights: Tensor, settings: NetworkSettings) -> None:
        self.weights = weights
        self.settings = settings
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)
        self.steps = torch.zeros(())

    def step(self, gradient: Tensor) -> None:
        self.steps.add_(1.0)
        torch._fused_adamw_(
            [self.weights],
            [gradient],
            [self.mean],
            [self.square],
            [],
            [self.steps],
            lr=self.settings.learning_rate,
            beta1=self.BETA1,
            beta2=self.BETA2,
            weight_decay=self.settings.weight_decay,
            eps=self.EPSILON,
            amsgrad=False,
            maximize=False,
        )


def _layer_gradient(inputs: Tensor, back: Tensor, weight: Tensor, bias: Tensor) -> None:
    torch.bmm(inputs.mT, back, out=weight)
    torch.sum(back, 1, keepdim=True, out=bias)
