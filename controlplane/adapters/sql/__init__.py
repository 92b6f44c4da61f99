"""The stores of controlplane.ports on a SQL database.

`stores` opens everything and is what wiring calls; `database` runs transactions with deadlines on
the two lanes that `sqlite` makes; `database_file` knows whether its files are still there, and
the way back; `outages` turns driver errors into ours; `tables` is the schema and `migrations` its
history, run by `migrate` at start; the other modules are one store each.
"""
