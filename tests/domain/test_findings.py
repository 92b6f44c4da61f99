"""A finding is known again by who found what with which item, not by its words."""

from dataclasses import replace

from controlplane.domain.findings import Finding, Observation, Source, finding_id

SEEN = Observation(code="route_invalid", subject="route/r7", message="words")


def test_the_same_trouble_has_the_same_id() -> None:
    first = finding_id(Source.DATA_PLANE, "envoy", SEEN)
    assert finding_id(Source.DATA_PLANE, "envoy", replace(SEEN, message="other words")) == first
    others = {
        finding_id(Source.LOOP, "envoy", SEEN),
        finding_id(Source.DATA_PLANE, "haproxy", SEEN),
        finding_id(Source.DATA_PLANE, "envoy", replace(SEEN, code="x")),
        finding_id(Source.DATA_PLANE, "envoy", replace(SEEN, subject="route/r8")),
    }
    assert len(others | {first}) == 5
    assert len(first) == 16


def test_it_stands_until_it_is_cleared() -> None:
    finding = Finding(id="x", source=Source.LOOP, observation=SEEN, since_s=1.0, seen_s=2.0)
    assert finding.standing
    assert not replace(finding, cleared_s=3.0).standing
