"""Session queueing: whole sessions wait in front of a small site, and are served to the end inside.

`policy` what is declared; `room` who is inside and who waits, in what order (`deadlines` for how
long); `control` how many may be inside, from response times; `standing` what somebody who waits is
told; `tickets` what a signed ticket says, and whom it is believed. Sessions rather than requests
wait, because those who are served to the end leave sooner on average than those whose requests
take turns (S3).
"""
