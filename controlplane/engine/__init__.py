"""The only place where time passes and state changes.

It reaches the outside through the Protocols of `controlplane.ports` only. The data's way, from
below: `publishing`, `fleet`, `samples`, `learning`, `deciding`, `reconciling`. Beside it: `health`,
`intents`, `routes`, `operations` (alerts, changes, incidents), `consumers`.

For all of them: `stages` (clock, totals, findings), `findings`, `pokes` (who asks for a tick),
`cadence`, `turns` (one writer after another), `errands` and `supervision` (tasks), `patience` (a
start that waits for the store), `set_back` (a clock that goes back). Alone: `access` (tokens),
`store_watch`, `retention`.
"""
