"""`signalbox demo`: the control plane, Envoy, two data centres and their load on one machine, driven through the public API."""
