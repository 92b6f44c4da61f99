from controlplane.domain.instances.backups import late_standbys
from tests.domain.instances.test_placement import HALVES, TWO, cluster, service


def test_a_standby_beside_several_who_bear_traffic_is_late() -> None:
    (note,) = late_standbys([(TWO, HALVES)], "nginx")
    assert (note.code, note.subject) == ("standby_waits_for_all", "service/tickets")
    assert "nginx has" in note.message


def test_one_cluster_with_a_standby_loses_nothing_and_one_without_has_none() -> None:
    alone = service(cluster("east", "a", 1, 2), cluster("east", "spare", 3, standby=True))
    without = service(cluster("east", "a", 1), cluster("west", "", 2))
    assert list(late_standbys([(alone, HALVES), (without, HALVES)], "nginx")) == []
