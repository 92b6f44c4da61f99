"""Abnormal traffic: clients that behave unlike people are scored, and levels of risk get services
of their own.

`policy` what is declared; `client` what is remembered of one client; `scoring` signals, rules and
the decision.
"""
