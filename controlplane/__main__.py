"""`python -m controlplane` is the command `signalbox`."""

from controlplane.cli.app import main

main()
