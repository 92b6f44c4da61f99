"""Session queues at work: tickets are checked and signed here, and the others wait.

`queue` the enforcer, one request from its ticket to its answer; `signing` signed tickets; `callers`
who asks; `holding` requests that wait in the agent itself; `steering` the size of the pool, period
by period; `alone` what happens without shared state; `page` what somebody who waits gets to see,
`words` in his language.
"""
