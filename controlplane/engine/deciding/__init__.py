"""Decisions of one cycle: facts in, decisions out, nothing stored.

- `cycle` decides one service; `rulings` all that are due, with `pools` between them.
- `shadow` decides with the model on trial beside it. `faults`, `regions`: what could not be.
- `replay` makes a decision again from its record; `explanation` puts it into words.
"""
