"""Route files of others: OpenAPI, Gateway API HTTPRoute and CSV, read into routes and written.

- `formats`: one entry for all: text -> `Imported`, routes -> text with notes.
- `openapi`, `openapi_addresses`, `path_templates`: an API's description -> routes.
- `http_route`, `http_route_matches`, `http_route_filters`, `http_route_backends`: HTTPRoutes.
- `csv_routes`, `csv_cells`: one row a route.
- `openapi_export`, `http_route_export`, `csv_export`: the way back; `omissions`: what gets lost.
- `imports`: what is asked for and what comes of it. `documents`: text -> places. `naming`: ids.
- `merging`: what an import makes of the routes that are declared.

What is wrong with one item is a finding on it, and the item is left out; the rest is imported.
"""
