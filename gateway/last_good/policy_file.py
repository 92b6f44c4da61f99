"""The last good policies, as the control plane served them."""

from pathlib import Path

import structlog

from controlplane.domain.admission.section import Received, received
from gateway.last_good.section_file import SectionFile

MAGIC = b"signalbox-policies-1 "
FILE_NAME = "policies.section"

log = structlog.get_logger()


def policy_file(folder: Path) -> SectionFile[Received]:
    """Where they are kept."""
    return SectionFile(folder / FILE_NAME, MAGIC, _read)


def _read(body: bytes) -> Received:
    found = received(body)
    for one in found.unreadable:
        log.warning("admission.policy_unreadable", policy=one.name, why=one.reason)
    return found
