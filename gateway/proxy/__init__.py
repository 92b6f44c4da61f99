"""The agent's own reverse proxy, for small sites and for what is answered from cache.

`options` what it is told; `head` a request's head judged once, and forwarded exactly as judged;
`forwarded` who sent it and through whom; `actions` what a route makes of it; `listening`
connections of clients; `upstreams` connections to endpoints; `relaying` bodies both ways;
`answers` what is said in place of an upstream; `proxy` one request from its head to its end.
Whatever else a front proxy does is Envoy's.
"""
