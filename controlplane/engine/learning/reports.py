"""Reports of registered models: what training measured, and where the model stands now.

Called by the API. Reads the registry and the files beside the models; decides nothing.
"""

from dataclasses import dataclass

from controlplane.domain.errors import NotFound
from controlplane.ports.learning import ModelRegistry, ModelReports, StoredModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """A registered model and its sheet, JSON text as the port has it."""

    stored: StoredModel
    sheet: str


class Reports:
    """The reports of all registered models."""

    def __init__(self, registry: ModelRegistry, files: ModelReports) -> None:
        self._registry = registry
        self._files = files

    async def of(self, digest: str) -> ModelReport:
        """The report of one model.

        Raises:
            NotFound: no model has this digest.
            Invalid: its files are damaged or gone.
        """
        for stored in await self._registry.all(None):
            if stored.digest == digest:
                return ModelReport(stored=stored, sheet=await self._files.sheet(digest))
        raise NotFound("model_not_found", f"no model has the digest {digest[:12]}")
