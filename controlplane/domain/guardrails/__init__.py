"""The envelope: an ordered tuple of guards between every proposal and every data plane.

- limits: the values of the guards, which are settings
- state: what the guards remember from one cycle to the next, and the verdict
- draft: a proposal on its way through the guards
- freshness: no move on old or absurd metrics; a slow ramp to the static ratio after long silence
- learning: the proposal is numbers; support of the training; minimum gain; revert
- bounds: shares by role, the step of one cycle, evacuations
- capacity: projected utilisation of every pool
- reserves: who bears traffic; disaster-recovery and cloud centres join and leave
- regions: splits by source region: their step, and how they follow the sum
- pools: all services of a cycle together overfill no shared pool
- ledger, skill, trial: what a model said and what came, live and in the shadow
- intervals: how sure a forecast is, and whether the last ones were as sure as they said
- pacing: dwell, pause after a revert, changes per hour
- dithering: a small shift by chance, within what all others allow
- envelope: the order, and `judge`, which runs it
"""
