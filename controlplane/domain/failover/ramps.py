"""How fast traffic leaves and comes back: steps of a ramp, as functions of time.

Called by `intents.presence` at each tick, so a restart in the middle of a ramp goes on where time
has brought it. Steps, not a slope: each is a push to every data plane.
"""

import math

# A ramp has at most so many steps, and none is shorter than this: every gateway takes each of them.
STEPS = 20
# Each change of weights moves a few users who are not concerned (hashing is consistent, not
# perfect), so what leaves goes in fewer steps: else some would come back and leave again.
LEAVING_STEPS = 5
LEAST_STEP_S = 0.5


def step_s(whole_s: float) -> float:
    """Length of one step of a ramp that takes `whole_s` (>= 0)."""
    return max(whole_s / STEPS, LEAST_STEP_S)


def fallen(whole_s: float, elapsed_s: float) -> float:
    """What is left of the traffic that leaves: 1 before it begins, 0 at the end; 0 over no time.

    The first step comes at once, so that an operator sees that something happens.
    """
    # In floating point a whole number of steps may come out a little above it.
    gone = math.ceil(risen(whole_s, elapsed_s) * LEAVING_STEPS - 1e-9)
    return 1.0 - gone / LEAVING_STEPS


def risen(whole_s: float, elapsed_s: float) -> float:
    """How much is back of the traffic that returns: the first step at once, 1 at the end.

    Slow start: what returns has cold caches and empty connection pools, so it grows by equal
    steps and never jumps; where a proxy can start single endpoints slowly, it does that besides.
    """
    if elapsed_s < 0:
        return 0.0
    if whole_s <= 0 or elapsed_s >= whole_s:
        return 1.0
    length_s = step_s(whole_s)
    count = math.ceil(whole_s / length_s)
    done = math.floor(elapsed_s / length_s) + 1
    return min(1.0, done / count)


def next_step(whole_s: float, elapsed_s: float) -> float | None:
    """Seconds from now until the next step; None when the ramp is over."""
    if whole_s <= 0 or elapsed_s >= whole_s:
        return None
    if elapsed_s < 0:
        return -elapsed_s
    length_s = step_s(whole_s)
    following_s = (math.floor(elapsed_s / length_s) + 1) * length_s
    return min(following_s, whole_s) - elapsed_s
