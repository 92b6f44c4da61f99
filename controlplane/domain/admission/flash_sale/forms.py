"""How many order forms one node gives out: the first check, without asking anybody.

A node that has given out its quota answers "ended" at once; a user who has a form keeps it, so
that his answer does not change when he comes again. Bounded: at most `forms_per_node` users.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Forms:
    """The forms of one node, in one sale.

    Attributes:
        quota: how many users may have one.
        before: how many an earlier run of the node gave out; their users show them by ticket.
        holders: user -> when his form was given out, milliseconds of Unix time.
    """

    quota: int
    before: int = 0
    holders: dict[str, int] = field(default_factory=dict)

    def take(self, user: str, now_ms: int) -> int | None:
        """When the user's form was given out: now, or before; None when there is none left."""
        given = self.holders.get(user)
        if given is not None:
            return given
        if self.spent:
            return None
        self.holders[user] = now_ms
        return now_ms

    @property
    def spent(self) -> bool:
        """Whether nobody new gets a form."""
        return self.before + len(self.holders) >= self.quota
