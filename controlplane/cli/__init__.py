"""The command `signalbox`: a client of the public API, and the way to start each process.

- `app` (entry point `main`) joins the commands and turns errors into exit codes.
- `target` (server and token), `connection` (finds it in options and environment), `client` (HTTP),
  `failures` (exit codes, findings), `output` (tables, JSON), `curve` (text plot) serve all.
- One module per group: `fleet`, `traffic`, `decisions`, `samples`, `token`, `models`, `audit`,
  `processes` (serve, demo, gateway, simulate), `envoy`.

Heavy libraries are imported inside the commands that need them, so that `--help` is quick.
"""
