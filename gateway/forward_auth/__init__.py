"""Forward-auth: a proxy asks the agent about each request before it lets it on.

`questions` what Envoy, nginx, Traefik and Caddy send, read as the request that it is about;
`replies` what each of them is answered; `parked` whole answers for a proxy that takes a status
only; `door` the HTTP server.
"""
