"""The parts of an application's client: who serves what, who is next, what became of it."""
