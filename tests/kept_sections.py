"""What an agent keeps of a control plane that it once had: policies and routes of a fleet."""

from pathlib import Path

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.snapshot import Section
from controlplane.domain.topology import Fleet
from gateway.last_good.policy_file import policy_file
from gateway.last_good.polling import Fetched


def keep_policies(fleet: Fleet, folder: Path) -> None:
    """Policies of a fleet, as the control plane serves them, in an agent's folder."""
    shares = {service.name: {service.clusters[0].datacenter: 1.0} for service in fleet.services}
    body = build(fleet, shares).sections[Section.ADMISSION]
    policy_file(folder).store(Fetched(body=body, tag="kept", revision=1))
