import itertools

import pytest

from controlplane.demo.background import Background, BackgroundJob


def jobs_until(background: Background, workers: int, end_s: float) -> list[BackgroundJob]:
    return list(itertools.takewhile(lambda job: job.at_s < end_s, background.jobs(workers)))


def test_whole_periods_carry_the_mean_share() -> None:
    background = Background(mean=0.2, amplitude=0.12, period_s=75.0, job_s=0.25)
    work_s = sum(job.duration_s for job in jobs_until(background, 5, 150.0))
    assert work_s / (5 * 150.0) == pytest.approx(0.2, abs=0.006)


def test_jobs_come_in_order_and_follow_the_swing() -> None:
    background = Background(mean=0.2, amplitude=0.12, period_s=80.0, job_s=0.25)
    jobs = jobs_until(background, 8, 80.0)
    assert [job.at_s for job in jobs] == sorted(job.at_s for job in jobs)
    first_half = sum(job.at_s < 40.0 for job in jobs)
    assert first_half / (len(jobs) - first_half) > 2.0


def test_a_later_start_joins_the_same_sequence() -> None:
    background = Background()
    early = [job for job in jobs_until(background, 5, 60.0) if job.at_s > 41.0]
    late = list(itertools.islice(background.jobs(5, 40.0), 200))
    assert {round(job.at_s, 6) for job in early} <= {round(job.at_s, 6) for job in late}


def test_an_amplitude_above_the_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="amplitude < mean"):
        Background(mean=0.1, amplitude=0.2)
