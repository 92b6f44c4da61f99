"""Where the secrets of flash sales come from, and where an agent keeps them."""

from dataclasses import dataclass
from pathlib import Path

from gateway.last_good.polling import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningOptions:
    """One agent's.

    Attributes:
        source: the control planes, and as whom they are asked.
        folder: openings are kept here, readable for their owner only.
    """

    source: Source
    folder: Path
