"""A compressed tree over path segments: the longest matching pattern at the cost of a short walk.

`pattern` what paths are like; `tree` the whole; `node` a place in it, and the walk; `building`
many patterns at once; `changes` one pattern more or less; `invariants` what always holds of a tree.

S4's route algorithm: identifiers split by their separator, one node for each piece. Here chains
of nodes without a choice are one node (Morrison's Patricia, 1968), a piece may be a parameter,
and whole paths without one need no walk: they stand in a dictionary beside the nodes.
"""
