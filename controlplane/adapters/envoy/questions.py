"""What the local Envoy is asked about: the parts of an artifact that are checked before a push.

Pure; called by `clearance`. A part is a name (`cds/...`) and its bytes.
"""

from collections.abc import Mapping, Sequence

from controlplane.adapters.envoy.forms import only, unpublished
from controlplane.adapters.envoy.preflight import CHECKED
from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.snapshot import Content
from controlplane.domain.xds import ResourceType
from controlplane.ports.outside import Artifact

Part = tuple[str, bytes]


def alone(content: Content, subjects: Sequence[str]) -> tuple[Part, ...]:
    """These items rendered by themselves, as far as they are checked."""
    part = only(content, subjects)
    made = Renderer().render(unpublished(part)).parts
    return tuple(one for one in made if _type_of(one) in CHECKED)


def checked(artifact: Artifact) -> dict[str, bytes]:
    """The parts of an artifact that are checked before a push, by name."""
    return dict(part for part in artifact.parts if _type_of(part) in CHECKED)


def to_ask_about(checked: Mapping[str, bytes], passed: Mapping[str, bytes]) -> list[Part]:
    """What the local Envoy has not seen; with a thousand services all of it takes seconds."""
    new = {name for name, data in checked.items() if passed.get(name) != data}
    # Routes are judged inside a listener.
    return [part for part in checked.items() if part[0] in new or (new and _is_listener(part))]


def _type_of(part: Part) -> str:
    return part[0].partition("/")[0]


def _is_listener(part: Part) -> bool:
    return _type_of(part) == ResourceType.LISTENER
