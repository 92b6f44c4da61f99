"""Route files of others: OpenAPI, Gateway API HTTPRoute and CSV, read into routes and written.

- `formats`: one entry for all: text -> `imports.Imported`, routes -> text with notes.
- `wishes`, `imports`: what a caller chose, and what comes of it. `merging`: the fleet with it.
- `openapi`, `openapi_addresses`, `path_templates`: an API's description -> sketches.
- `http_route`, `http_route_matches`, `_filters`, `_backends`, `_limits`: HTTPRoutes -> sketches.
- `csv_routes`, `csv_cells`: one row a route -> sketches.
- `sketches`: a route in the fleet document's words, whose own rules read it. `naming`: ids.
- `documents`: text -> places.
- `openapi_export`, `http_route_export`, `csv_export`: the way back; `omissions`: what gets lost.

What is wrong with one item is a finding on it, and the item is left out; the rest is imported.
"""
