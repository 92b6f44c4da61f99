"""The digest of the sources that decide what a version becomes: training and its formulas."""

import hashlib
from importlib.resources import files

_STRATEGIES = ("greybox", "projection", "queue_law")


def code_digest() -> str:
    """sha256 over models, learning, the data sets, and the formulas shared with the domain."""
    digest = hashlib.sha256()
    for package in ("models", "training.learning"):
        for source in sorted(files(package).iterdir(), key=lambda path: path.name):
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + source.read_bytes())
    for name in ("dataset.py", "dataset_text.py", "site_dataset.py"):
        digest.update(files("training").joinpath(name).read_bytes())
    domain = files("controlplane.domain")
    for name in ("features.py", *(f"strategies/{name}.py" for name in _STRATEGIES)):
        digest.update(name.encode() + domain.joinpath(*name.split("/")).read_bytes())
    return digest.hexdigest()
