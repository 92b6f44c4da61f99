"""The command `signalbox`: a client of the public API, and the way to start each process.

- `app` (entry point `main`) joins the `commands` and turns errors into exit codes.
- `target` (server and token), `connection` (finds it in options and environment), `client` (HTTP)
  and `paths` talk to the server; `failures` has exit codes and findings.
- `output` (tables, JSON), `curve` (text plot) and `intent_words` are what is printed.
- `text_files`, `declared`, `sample_file` and `headers` are what is given.

Heavy libraries are imported inside the commands that need them, so that `--help` is quick.
"""
