"""May a version serve? Checks on the rows that it was trained on, before it meets traffic.

A model learns whatever its rows say, also when labels are shuffled, units are mixed, columns are
exchanged or something else slowed everything whenever the ratio was raised. Its error on held-out
rows cannot tell: they come from the same source. So the rows are held against what must be true of
any site.

- examine: all checks in order; the one function that others call
- evidence: what the checks read, computed once
- labels: the label is the response time of the period that follows, and the model explains it
- places: each centre's metrics are its own, and the ratio did what it says
- units: one unit throughout, and one that is possible
- confounding: the ratio is not a sign of something else

Pure: numpy on rows and artifact. Every check answers with a figure, its limit and words; one that
the rows cannot decide passes and says so.
"""
