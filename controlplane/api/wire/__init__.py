"""The domain on the wire: one module for each kind of thing, both ways.

Called by `resources`. `values` has what they share: times, texts, samples.
"""
