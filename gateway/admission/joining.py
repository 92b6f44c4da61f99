"""What several policies said of one request, made one ruling."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from controlplane.domain.admission.asking import ADMITTED, Verdict
from gateway.admission.enforcing import ADMITTED_RULING, Copying, Headers, Outcome, Ruling

Ended = Callable[[Outcome], None]


@dataclass(slots=True)
class Joined:
    """The rulings so far, all of which let the request go on."""

    request_headers: Headers = ()
    response_headers: Headers = ()
    ended: list[Ended] = field(default_factory=list)
    copied: Copying | None = None
    most_body_bytes: int | None = None

    def observe(self, ruling: Ruling) -> None:
        """One of a policy that only observes: nothing of it is carried out."""
        if ruling.decision.verdict is Verdict.ADMIT and ruling.ended is not None:
            self.ended.append(ruling.ended)

    def add(self, ruling: Ruling) -> None:
        """One that lets it go on."""
        if ruling is ADMITTED_RULING:
            return
        self.request_headers += ruling.request_headers
        self.response_headers += ruling.response_headers
        if ruling.ended is not None:
            self.ended.append(ruling.ended)
        if self.copied is None:
            # One is enough: two policies that keep the same answers are one too many.
            self.copied = ruling.copied
        most = ruling.most_body_bytes
        if most is not None and (self.most_body_bytes is None or most < self.most_body_bytes):
            self.most_body_bytes = most

    def end(self, outcome: Outcome) -> None:
        """Tell everybody what became of it."""
        for each in self.ended:
            each(outcome)

    def refused(self, ruling: Ruling) -> Ruling:
        """The one that does not let it go on, with what the others give the client."""
        return replace(ruling, response_headers=self.response_headers + ruling.response_headers)

    def admitted(self) -> Ruling:
        """All of them, when nobody stopped it."""
        rest = (self.most_body_bytes, self.copied)
        if not (self.request_headers or self.response_headers or self.ended) and rest == (
            None,
            None,
        ):
            return ADMITTED_RULING
        return Ruling(
            decision=ADMITTED,
            request_headers=self.request_headers,
            response_headers=self.response_headers,
            ended=self.end if self.ended else None,
            copied=self.copied,
            most_body_bytes=self.most_body_bytes,
        )
