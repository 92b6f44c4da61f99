"""The token of one read, and who waits for it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controlplane.domain.admission.overload.line import Full, Granted, Line, Terms, Waiting

TERMS = Terms(token_s=5.0, wait_s=2.0, claim_s=0.5, most_waiting=3)


def test_one_has_the_token_and_the_others_wait_in_order() -> None:
    line = Line()
    assert line.take("a", TERMS, 0.0, 1) == Granted(fence=1)
    assert line.take("b", TERMS, 0.1, 2) == Waiting(ahead=0, again_s=4.9)
    assert line.take("c", TERMS, 1.0, 3) == Waiting(ahead=1, again_s=4.0)
    assert line.release("a", 1)
    assert line.first == "b"
    assert line.take("c", TERMS, 1.0, 4) == Waiting(ahead=1, again_s=0.5)
    assert line.take("b", TERMS, 1.0, 5) == Granted(fence=5)


def test_asking_again_keeps_the_token_and_the_place() -> None:
    line = Line()
    assert line.take("a", TERMS, 0.0, 1) == line.take("a", TERMS, 1.0, 2) == Granted(fence=1)
    line.take("b", TERMS, 0.0, 3)
    line.take("c", TERMS, 0.0, 3)
    assert line.take("b", TERMS, 1.0, 3) == Waiting(ahead=0, again_s=4.0)


def test_a_token_that_is_not_given_back_is_free_after_its_time_and_stays_another_s() -> None:
    line = Line()
    line.take("a", TERMS, 0.0, 1)
    assert line.take("b", TERMS, 5.0, 2) == Granted(fence=2)
    assert not line.release("a", 1)
    assert not line.release("b", 1)
    assert line.release("b", 2)
    assert not line.release("b", 2)


def test_who_does_not_take_a_free_token_loses_his_place() -> None:
    line = Line()
    line.take("a", TERMS, 0.0, 1)
    for who in ("dead", "c"):
        line.take(who, TERMS, 0.0, 1)
    line.release("a", 1)
    assert line.take("c", TERMS, 0.25, 2) == Waiting(ahead=1, again_s=0.5)
    assert line.take("c", TERMS, 0.75, 3) == Granted(fence=3)


def test_who_waits_too_long_is_passed_over_at_once() -> None:
    line = Line()
    line.take("a", TERMS, 0.0, 1)
    line.take("late", TERMS, 0.0, 1)
    line.take("c", TERMS, 1.0, 1)
    line.release("a", 1)
    assert line.take("c", TERMS, 2.0, 2) == Granted(fence=2)


def test_a_line_has_an_end() -> None:
    line = Line()
    for who in "abcd":
        line.take(who, TERMS, 0.0, 1)
    assert line.take("e", TERMS, 0.0, 1) == Full()
    assert line.take("e", TERMS, 2.0, 1) == Waiting(ahead=0, again_s=3.0)
    none = Terms(token_s=5.0, wait_s=2.0, most_waiting=0)
    alone = Line()
    assert alone.take("a", none, 0.0, 7) == Granted(fence=7)
    assert alone.take("b", none, 0.0, 8) == Full()


def test_who_leaves_makes_room() -> None:
    line = Line()
    line.take("a", TERMS, 0.0, 1)
    line.take("b", TERMS, 0.0, 1)
    line.take("c", TERMS, 0.0, 1)
    assert not line.leave("c")
    assert line.leave("b")
    assert not line.leave("b")
    assert line.first == ""


def test_an_answer_for_everybody_empties_the_line() -> None:
    line = Line()
    line.take("a", TERMS, 0.0, 1)
    line.take("b", TERMS, 0.0, 1)
    assert not line.finish("b", 1)
    assert line.first == "b"
    assert line.finish("a", 1)
    assert line.empty(0.0)


def test_a_line_is_kept_while_somebody_has_or_wants_the_token() -> None:
    line = Line()
    assert line.empty(0.0)
    line.take("a", TERMS, 0.0, 1)
    line.take("b", TERMS, 4.0, 1)
    assert not line.empty(4.9)
    assert not line.empty(5.1)
    assert line.empty(6.0)


class Lent(RuleBasedStateMachine):
    """At most one has the token, fences grow, and of those who ask on nobody is overtaken."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.now_s, self.fence = Line(), 0.0, 0
        self.held: tuple[str, int, float] | None = None
        self.waiting: dict[str, float] = {}
        self.granted: list[int] = []

    @rule(pause_s=st.floats(0, 0.4))
    def time_passes(self, pause_s: float) -> None:
        self.now_s += pause_s

    @rule(who=st.sampled_from("abcdef"))
    def take(self, who: str) -> None:
        self.fence += 1
        taken = self.line.take(who, TERMS, self.now_s, self.fence)
        held = self.held if self.held and self.now_s < self.held[2] else None
        match taken:
            case Granted(fence=fence) if held is not None:
                assert (who, fence) == held[:2]
            case Granted(fence=fence):
                first = next((w for w, until in self.waiting.items() if until > self.now_s), who)
                # Whoever is overtaken did not take what was his for half a second.
                assert who == first or self.now_s >= 0.5
                assert fence > max(self.granted, default=0)
                self.granted.append(fence)
                self.held = (who, fence, self.now_s + TERMS.token_s)
                self.waiting.pop(who, None)
            case Waiting():
                self.waiting.setdefault(who, self.now_s + TERMS.wait_s)
            case Full():
                assert len(self.waiting) >= TERMS.most_waiting

    @rule(late=st.booleans())
    def release(self, late: bool) -> None:
        if self.held is None:
            return
        who, fence, _ = self.held
        if late:
            assert not self.line.release(who, fence - 1)
        else:
            assert self.line.release(who, fence)
            self.held = None

    @invariant()
    def is_kept_while_held(self) -> None:
        if self.held is not None and self.now_s < self.held[2]:
            assert not self.line.empty(self.now_s)


Lent.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLent = Lent.TestCase
