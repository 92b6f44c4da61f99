"""Operations around intents: what begins them by itself, what groups them, what is told of them.

Pure; `engine` owns the clock, the store and the calls.

- alerts: an alert from outside or a finding of our own, as labels that a policy can match
- alert_policies: which alerts order which intent, for how long and how often
- episodes: what the firing alerts ask for now, at most one intent for each target
- scenarios: named sets of intents that are applied and undone as one
- changes, change_gates, change_templates: planned changes in stages
- webhooks: what is sent out, signed, and when it is tried again
- timeline, incidents, timeline_export: what happened, in order, for people and machines
"""
