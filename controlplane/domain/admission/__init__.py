"""Admission: which requests go on, which wait, and which are answered instead.

`policy` what is declared and where it is attached; `asking` the question and the answer that all
kinds share; one module (or a few of one name) for each kind, each a pure state machine that is
told the time. `section` is how gateways read what is served, `trial` a dry run, `presets` are
ready-made policies. Gateways enforce them; the control plane serves them and answers dry runs.
"""
