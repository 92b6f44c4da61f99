"""An Envoy's configuration kept beside it, for as long as the control plane is away."""
