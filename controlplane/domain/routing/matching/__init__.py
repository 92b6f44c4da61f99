"""Which route a request gets, and why.

`normalization` the one spelling of a path, `request` as rules see it; `conditions`, `cohorts`,
`functions` with `provided_functions` what a rule may ask;
`rule` a route made ready to be asked, `table` all of them, `wire` the table as bytes;
`explanation` who wins and why the others lost.
"""
