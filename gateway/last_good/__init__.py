"""What the control plane said last: polled, and kept on disk for as long as it is away."""
