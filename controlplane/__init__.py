"""The control plane: facts in, decisions in the middle, one snapshot out to every data plane.

Layers, highest first; a module imports only from layers below its own (import-linter checks it):

    cli                the command `signalbox`
    demo               the whole thing on one machine, a client of the public API
    serving            starts and stops `signalbox serve`: ports, signals, calendar, tasks
                       (`observing`: the same for probes from another place)
    wiring             builds everything from the settings; the only module that knows everything;
                       from `proxies`, `trainings`, `emergencies`, `operations`, `checking`,
                       `sampling`, `storing`
    settings, logs     the frozen settings tree; the set-up of structured logs
    api                REST and streams under /v1: wire in, one engine call, wire out
    adapters           one module or small folder per outside thing; strangers to each other
    console            static web pages, one more client of the API
    engine             the only place where time passes and state changes
    ports              Protocols between the engine and the adapters, in domain types
    domain             pure functions and frozen values
"""
