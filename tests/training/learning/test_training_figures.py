"""What `benchmarks.training` calls worse than theirs."""

from benchmarks.training import worse_losses


def test_a_worse_loss_is_said() -> None:
    figures = {
        "paper_vs_loop_ratio": 9.0,
        "paper_vs_loop_loss_gap_ratio": 2e-3,
        "batched_vs_sklearn_loss_excess_sd": 3.0,
        "ensemble_vs_loop_whole_loss_excess_sd": 2.1,
    }
    said = ["paper_vs_loop_loss_gap_ratio", "ensemble_vs_loop_whole_loss_excess_sd"]
    assert worse_losses(figures) == said
