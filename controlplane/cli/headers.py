"""What stands in an option `--header`: NAME=VALUE."""

from controlplane.domain.errors import Invalid


def header_of(text: str) -> tuple[str, str]:
    """Name and value of a header; Invalid when they are not both there."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise Invalid("option_invalid", f"--header is {text!r}; give NAME=VALUE")
    return name.strip(), value.strip()
