"""What the page of the diverter shows is what the program takes."""

import re
import shlex

from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.admission.policy import PolicyKind
from controlplane.domain.fleet_policies import invalid, unknown_references
from gateway.diverter.diverter import Counts, Servers, Told
from gateway.diverter.options import diverter_options
from tests.api.test_caller_pages import DOCS

PAGE = (DOCS / "stations.md").read_text(encoding="utf-8")


def test_the_fleet_of_the_page_is_one() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    fleet = parse(text)
    assert fleet.policies[0].kind is PolicyKind.REGIONAL_OVERFLOW
    assert not invalid(fleet.policies)
    assert not list(unknown_references(fleet))


def test_the_command_of_the_page_is_one() -> None:
    (text,) = re.findall(r"python -m gateway divert (--service .*?)```", PAGE, re.DOTALL)
    options = diverter_options(shlex.split(text.replace("\\\n", " ")))
    assert options.listen == ("0.0.0.0", 7000)
    assert options.loads == ("127.0.0.1", 18008)


def test_the_metrics_of_the_page_are_those_of_the_program() -> None:
    told = Told(Servers(lambda: 0.0), Counts())
    names = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in told.collect()
    }
    assert names == set(re.findall(r"^\| `(signalbox_diverter_\w+)`", PAGE, re.MULTILINE))
