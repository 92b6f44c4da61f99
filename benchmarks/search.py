"""How long the best-ratio search takes: 61 candidates of one service, and 1,000 services at once.

One search builds the inputs of all candidates (domain.features), runs the numpy forward pass
(models.forward) and takes the smallest prediction. Beside it in the same run, alternating: torch
on the same weights, one service after the other, and the plain loop that asks the network for
one candidate at a time. `python -m benchmarks.search [--quick] [--json]`
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import command
from controlplane.domain.features import CenterColumns, design_matrix
from controlplane.domain.strategies.candidates import GRID
from models.forward import LAYERS, Mlp, MlpStack, predict, predict_stack, stack

FloatArray = NDArray[np.float64]

SERVICES = 1000
SEED = 2025
# Numpy and torch may differ by rounding only, relative to predictions of about 1.
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """The same work for everyone: one service's newest metrics and network, and many of them.

    Metrics of `many` are (services, 1), so that they broadcast against the candidates.
    """

    one: tuple[CenterColumns, CenterColumns]
    many: tuple[CenterColumns, CenterColumns]
    networks: list[Mlp]
    stacked: MlpStack
    modules: list[torch.nn.Sequential]


def main() -> None:
    """Measure, check that numpy equals torch, print."""
    options = command.options(__doc__, quick="fewer repetitions")
    # Its fastest setting at this size: threads cost more than 61 rows have to give.
    torch.set_num_threads(1)
    work = prepare(np.random.default_rng(SEED))
    difference = largest_difference(work)
    if not difference <= TOLERANCE:
        raise SystemExit(f"numpy and torch differ by {difference:.2e}, at most {TOLERANCE:g} may")
    figures = measure(
        work, rounds=300 if options.quick else 3000, batches=5 if options.quick else 25
    )
    figures["max_difference_to_torch"] = difference
    show(figures)
    command.end(options, "search", figures)


def prepare(rng: np.random.Generator) -> Work:
    """Draw metrics and networks for `SERVICES` services."""
    networks = [_network(rng) for _ in range(SERVICES)]
    return Work(
        one=(_columns(rng, ()), _columns(rng, ())),
        many=(_columns(rng, (SERVICES, 1)), _columns(rng, (SERVICES, 1))),
        networks=networks,
        stacked=stack(networks),
        modules=[_module(network) for network in networks],
    )


def search(work: Work) -> float:
    """One search as serving does it: the ratio with the smallest prediction."""
    x = design_matrix(*work.one, GRID)
    return float(GRID[np.argmin(predict(work.networks[0], x))])


def search_by_torch(work: Work) -> float:
    """The same inputs through torch, all candidates in one forward pass."""
    x = design_matrix(*work.one, GRID)
    return float(GRID[int(_by_torch(work, 0, x).argmin())])


def search_by_loop(work: Work) -> float:
    """S4's text read as a program: join, predict and compare one candidate after the other."""
    best_ratio, best_ms = 0.0, np.inf
    for ratio in GRID:
        predicted_ms = float(predict(work.networks[0], design_matrix(*work.one, ratio))[0])
        if predicted_ms < best_ms:
            best_ratio, best_ms = float(ratio), predicted_ms
    return best_ratio


def search_all(work: Work) -> FloatArray:
    """Search all services in one batch, each with its own network: (services,) ratios."""
    x = design_matrix(*work.many, GRID)
    return np.asarray(GRID[predict_stack(work.stacked, x).argmin(axis=1)])


def search_all_by_torch(work: Work) -> FloatArray:
    """The same by torch, one service after the other."""
    x = design_matrix(*work.many, GRID)
    best = [int(_by_torch(work, index, x[index]).argmin()) for index in range(SERVICES)]
    return np.asarray(GRID[best])


def largest_difference(work: Work) -> float:
    """Largest |numpy - torch| over every prediction, relative to max(1, |torch|)."""
    x = design_matrix(*work.many, GRID)
    ours = predict_stack(work.stacked, x)
    worst = 0.0
    for index in range(SERVICES):
        theirs = _by_torch(work, index, x[index]).numpy()
        alone = predict(work.networks[index], x[index])
        for mine in (ours[index], alone):
            error = np.abs(mine - theirs) / np.maximum(1.0, np.abs(theirs))
            worst = max(worst, float(error.max()))
    return worst


def measure(work: Work, rounds: int, batches: int) -> dict[str, float]:
    """Time every way on the same work, alternating; medians, the units are in the names."""
    single = _alternating([search, search_by_torch, search_by_loop], work, rounds)
    batch = _alternating([search_all, search_all_by_torch], work, batches)
    numpy_us, torch_us, loop_us = (float(np.median(times)) * 1e6 for times in single)
    batch_ms, torch_ms = (float(np.median(times)) * 1e3 for times in batch)
    return {
        "search_us_p50": numpy_us,
        "search_us_p99": float(np.quantile(single[0], 0.99)) * 1e6,
        "torch_search_us_p50": torch_us,
        "loop_search_us_p50": loop_us,
        "search_1000_services_ms": batch_ms,
        "torch_1000_services_ms": torch_ms,
        "torch_to_numpy_ratio": torch_us / numpy_us,
        "loop_to_numpy_ratio": loop_us / numpy_us,
        "torch_to_numpy_1000_services_ratio": torch_ms / batch_ms,
    }


def show(figures: dict[str, float]) -> None:
    """Print the table: each way, and how many times our time it takes."""
    rows = (
        ("61 candidates, numpy", "search_us_p50", "us", None),
        ("61 candidates, torch", "torch_search_us_p50", "us", "torch_to_numpy_ratio"),
        ("61 candidates, one at a time", "loop_search_us_p50", "us", "loop_to_numpy_ratio"),
        ("1,000 services, numpy, one batch", "search_1000_services_ms", "ms", None),
        (
            "1,000 services, torch, one by one",
            "torch_1000_services_ms",
            "ms",
            "torch_to_numpy_1000_services_ratio",
        ),
    )
    for label, name, unit, ratio in rows:
        times = "" if ratio is None else f"{figures[ratio]:8.1f} x"
        print(f"{label:<36}{figures[name]:>10.1f} {unit} (median){times}")
    print(f"largest difference between numpy and torch: {figures['max_difference_to_torch']:.1e}")


def _alternating(
    ways: list[Callable[[Work], object]], work: Work, rounds: int
) -> list[list[float]]:
    """Seconds of each call; the ways take turns, so that each meets the same machine."""
    times: list[list[float]] = [[] for _ in ways]
    for way in ways:
        way(work)
    for _ in range(rounds):
        for way, kept in zip(ways, times, strict=True):
            start = time.perf_counter()
            way(work)
            kept.append(time.perf_counter() - start)
    return times


def _columns(rng: np.random.Generator, shape: tuple[int, ...]) -> CenterColumns:
    cpu = rng.uniform(0.2, 0.9, shape)
    return CenterColumns(
        cpu_avg=cpu,
        cpu_max=np.minimum(cpu + 0.1, 1.0),
        ingress_bandwidth_bps=rng.uniform(1e6, 1e9, shape),
        memory=rng.uniform(0.3, 0.7, shape),
        disk=rng.uniform(0.3, 0.5, shape),
        traffic_share=rng.uniform(0.3, 0.7, shape),
    )


def _network(rng: np.random.Generator) -> Mlp:
    spread = np.array([0.2, 0.2, 3e8, 0.1, 0.06, 0.1, 0.17] * 2)
    sizes = list(pairwise(LAYERS))
    weights = [
        rng.normal(0.0, (2.0 / wide) ** 0.5, (wide, narrow)).astype(np.float32)
        for wide, narrow in sizes
    ]
    biases = [rng.normal(0.0, 0.1, narrow).astype(np.float32) for _, narrow in sizes]
    return Mlp(
        w1=weights[0],
        b1=biases[0],
        w2=weights[1],
        b2=biases[1],
        w3=weights[2],
        b3=biases[2],
        x_mean=np.array([0.55, 0.65, 5e8, 0.5, 0.4, 0.5, 0.5] * 2),
        x_scale=spread,
    )


def _module(network: Mlp) -> torch.nn.Sequential:
    """The same weights as torch modules; the inputs are z-scored before."""
    layers: list[torch.nn.Module] = []
    for weight, bias in (
        (network.w1, network.b1),
        (network.w2, network.b2),
        (network.w3, network.b3),
    ):
        linear = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight.T.copy()))
            linear.bias.copy_(torch.from_numpy(bias))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _by_torch(work: Work, index: int, x: FloatArray) -> torch.Tensor:
    network = work.networks[index]
    scaled = ((x - network.x_mean) / network.x_scale).astype(np.float32)
    with torch.inference_mode():
        answer: torch.Tensor = work.modules[index](torch.from_numpy(scaled))[:, 0]
    return answer * network.y_scale + network.y_mean


if __name__ == "__main__":
    main()
