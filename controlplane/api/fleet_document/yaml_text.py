"""Documents -> YAML, in our order and without aliases.

Called by every export. An alias for what stands there twice would be right and hard to read, and
our own readers take no more than a hundred of them.
"""

from collections.abc import Iterable
from typing import Any

import yaml

_SAFE: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_SAFE):  # type: ignore[misc]
    """Writes equal things as often as they stand there."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def yaml_text(document: object, *, flow: bool | None = False) -> str:
    """One document; `flow` None writes lists and mappings without others inside on one line."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=flow
    )
    return text


def yaml_stream(documents: Iterable[object]) -> str:
    """Several documents in one file."""
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text
