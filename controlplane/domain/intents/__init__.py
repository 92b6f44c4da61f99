"""Intents: what somebody asked for, and what the published configuration makes of it.

`intent` is the model with its states; `targets` says what an intent means; `rules` refuses what is
not safe; `overlay` puts intents over a snapshot's content. Nothing here changes what is declared or
decided, so an intent that is gone leaves exactly what was there before it.
"""
