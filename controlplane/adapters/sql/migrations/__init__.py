"""History of the schema; `controlplane.adapters.sql.migrate` runs it at every start."""
