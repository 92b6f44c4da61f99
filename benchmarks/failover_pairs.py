"""The same faults on Envoys without a control plane: figures, ratios and the table.

Used by `benchmarks.failover`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.failover_faults import Fault
from benchmarks.failover_report import Struck
from benchmarks.failover_rivals import Rival

OURS = "ours"
# Whoever still fails so shortly before the fault's end has not been repaired by itself.
LAST_MS = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One fault, on ours and on the others; all lasted equally long."""

    ours: Struck
    rivals: Mapping[Rival, Struck]

    def of(self, name: str) -> Struck:
        """Of ours or of one of the others."""
        return self.ours if name == OURS else self.rivals[Rival(name)]


NAMES = (OURS, *Rival)


def pair_figures(pairs: Sequence[Pair]) -> dict[str, float]:
    """All of them together and by faults; ratios are theirs by ours, above 1 is worse than ours."""
    if not pairs:
        return {}
    figures = _figures("paired", pairs)
    for fault in Fault:
        some = [pair for pair in pairs if pair.ours.fault is fault]
        if some:
            figures |= _figures(f"paired_{fault.replace('-', '_')}", some)
    return figures


def _figures(prefix: str, pairs: Sequence[Pair]) -> dict[str, float]:
    repaired = {name: fmean(pair.of(name).repaired_ms for pair in pairs) for name in NAMES}
    failed = {name: sum(pair.of(name).failed for pair in pairs) for name in NAMES}
    figures: dict[str, float] = {}
    for name in NAMES:
        figures |= {
            f"{prefix}_{name}_repaired_ms_mean": repaired[name],
            f"{prefix}_{name}_failed_requests": float(failed[name]),
            f"{prefix}_{name}_requests": float(sum(pair.of(name).sent for pair in pairs)),
            f"{prefix}_{name}_not_repaired": float(
                sum(lasts(pair.of(name)) for pair in pairs),
            ),
        }
        if name != OURS:
            # Nothing at all counts as one: the ratio is then the least that it can be.
            figures |= {
                f"{prefix}_{name}_repaired_ratio": repaired[name] / max(1.0, repaired[OURS]),
                f"{prefix}_{name}_failed_ratio": failed[name] / max(1, failed[OURS]),
            }
    return figures


def lasts(struck: Struck) -> bool:
    """Whether requests failed or were late until the fault was undone."""
    return struck.repaired_ms > (struck.until_s - struck.at_s) * 1_000 - LAST_MS


def show_pairs(pairs: Sequence[Pair]) -> None:
    """Print the table; a fault lasted when nothing but its end repaired it."""
    if not pairs:
        return
    print(f"  {'without a control plane':<26}" + "".join(f"{name:^34}" for name in NAMES))
    print(f"  {'':<26}" + f"{'repaired ms':>16}{'failed':>9}{'lasted':>9}" * len(NAMES))
    for fault in Fault:
        some = [pair for pair in pairs if pair.ours.fault is fault]
        if some:
            print(_row(fault, some))
    print(_row("all", pairs))


def _row(title: str, pairs: Sequence[Pair]) -> str:
    figures = _figures("", pairs)
    cells = []
    for name in NAMES:
        ratio = figures.get(f"_{name}_repaired_ratio", 0.0)
        # Beside nothing there is no ratio.
        times = f"({ratio:.1f} x)" if ratio and figures[f"_{OURS}_repaired_ms_mean"] else ""
        cells.append(
            f"{figures[f'_{name}_repaired_ms_mean']:>8.0f} {times:>9}"
            f"{figures[f'_{name}_failed_requests']:>7.0f}"
            f"{figures[f'_{name}_not_repaired']:>5.0f}/{len(pairs):<3}"
        )
    return f"  {title:<26}" + "".join(cells)
