"""A request that somebody asks about, on the wire. Called by what answers such questions."""

from ipaddress import ip_address
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from controlplane.api.wire.routes import Name
from controlplane.api.wire.values import Text, Wire

MOST_HEADERS = 100

Token = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")]
Value = Annotated[Text, Field(max_length=8_192)]


def _address(text: str) -> str:
    """An IP address, or "" for a request that comes from nowhere."""
    if text:
        ip_address(text)
    return text


class RequestIn(Wire):
    """A request as a client sends it; the query follows the path."""

    path: Annotated[Text, Field(min_length=1, max_length=20_000)]
    host: Annotated[Text, Field(max_length=255)] = "localhost"
    method: Annotated[StrictStr, Field(pattern=r"^[A-Z][A-Z-]{0,31}$")] = "GET"
    headers: dict[Token, Value] = Field(default_factory=dict, max_length=MOST_HEADERS)
    source: Annotated[Text, Field(max_length=45), AfterValidator(_address)] = ""
    gateway: Name | None = None
    draft: Name | None = None
