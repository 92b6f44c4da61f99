import statistics

from controlplane.demo.demand import TABLE_SIZE, Demand


def test_table_carries_exactly_the_declared_mean_under_the_cap() -> None:
    table = Demand(mean_ms=80.0, cv=1.3, cap_ms=600.0).table_s()
    assert len(table) == TABLE_SIZE
    assert abs(statistics.fmean(table) - 0.080) < 1e-6
    assert max(table) <= 0.600 + 1e-9
    assert 1.1 < statistics.pstdev(table) / 0.080 < 1.3


def test_same_seed_gives_the_same_table_and_another_seed_another_order() -> None:
    assert Demand(seed=1).table_s() == Demand(seed=1).table_s()
    assert Demand(seed=1).table_s() != Demand(seed=2).table_s()
    assert sorted(Demand(seed=1).table_s()) == sorted(Demand(seed=2).table_s())
