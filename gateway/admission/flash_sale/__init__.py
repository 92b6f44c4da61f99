"""Flash sales where buyers come in.

`desk` decides for each request: his last answer again, a form, an order, or "ended"; `order_desk`
takes orders in; `writer` sends them to the shop in batches; `shop` is the way there; `opening`
brings the secrets from the control plane and keeps them on disk; `stock` is what nodes share;
`pages` what buyers read; `funnel` counts who is stopped where; `host` serves sales on a port of
their own, and `enforcer` beside any proxy.
"""
