"""From samples to facts: what is told or asked for, and what of it is not taken for true.

- `intake`: samples become facts, or findings; `receipts` says which, to the sender.
- `pull` asks declared sources once a period; `history` reads samples of any age.
- `suspicion` holds what is not plausible; `doubts` is its memory, `forcing` an operator's word.
"""
