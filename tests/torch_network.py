"""The 14-64-32-1 network as torch builds it: the reference of the forward pass and of the step."""

from collections.abc import Sequence

import torch


def torch_network(layers: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> torch.nn.Sequential:
    """Build it from the weight (in, out) and the bias (out,) of each layer."""
    network = torch.nn.Sequential(
        torch.nn.Linear(14, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
    )
    linears = [part for part in network if isinstance(part, torch.nn.Linear)]
    with torch.no_grad():
        for linear, (weight, bias) in zip(linears, layers, strict=True):
            linear.weight.copy_(weight.T)
            linear.bias.copy_(bias)
    return network
