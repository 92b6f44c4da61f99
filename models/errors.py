"""The one error of this package; who reads an artifact turns it into an answer of its own."""


class ArtifactError(ValueError):
    """A model file that cannot be trusted; the message says what is wrong and what to do."""
