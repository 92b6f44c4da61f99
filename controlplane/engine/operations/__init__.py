"""Operations in time: alerts that become intents, scenarios, planned changes, webhooks, incidents.

- items: named things that people declare, in memory and in the store
- intent_desk: the few words in which all of them ask for intents
- journal, watch: what happened, as it happens
- alerts: episodes of alerts, and what is ordered because of them
- scenarios, changes: sets of intents, applied and undone as one, or in stages
- webhooks: who is told, tried again until it is taken or dead
- incidents: from when to when something was wrong, with its timeline
"""
