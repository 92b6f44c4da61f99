"""The bound on what the regular expressions of one document compile to."""

from controlplane.api.fleet_document.programs import MOST_INSTRUCTIONS, Programs
from controlplane.domain.routing.expressions import LARGEST_PROGRAM, Fault


def test_a_document_may_have_so_many_instructions_and_no_more() -> None:
    programs = Programs(left=12)
    assert programs.fault("/a[0-9]+") is None
    assert programs.fault("/b[0-9]+") is None
    found = programs.fault("/c[0-9]+")
    assert found is not None
    assert "one expression too many" in found.words
    # What is known costs nothing.
    assert programs.fault("/a[0-9]+") is None


def test_an_expression_that_is_wrong_has_its_price_too() -> None:
    programs = Programs()
    assert programs.fault("/(") == Fault(words="missing ): /(", at=1)
    syntax = MOST_INSTRUCTIONS - programs.left
    assert programs.fault("(?:" + "|" * 400 + "a){999}") is not None
    giant = MOST_INSTRUCTIONS - programs.left - syntax
    assert 0 < syntax < LARGEST_PROGRAM < giant
