"""The only place where time passes and state changes; it talks to the outside through `controlplane.ports`."""
