"""What stands in an option `--header`: NAME=VALUE, or NAME: VALUE as curl has it."""

import re

from controlplane.domain.errors import Invalid


def header_of(text: str) -> tuple[str, str]:
    """Name and value of a header; Invalid when they are not both there.

    A name has neither sign in it, so the first one ends it.
    """
    name, *value = re.split("[=:]", text, maxsplit=1)
    if not (name.strip() and value):
        raise Invalid("option_invalid", f"{text!r} is no name with a value; give NAME=VALUE")
    return name.strip(), value[0].strip()
