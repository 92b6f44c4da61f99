"""The group `routes`: `group` reads, `life` and `gray_release` change, `history` looks back.

`match` asks which route a request gets, `files` has other formats, `words` is how routes are told.
"""
