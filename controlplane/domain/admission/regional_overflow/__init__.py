"""Regional overflow (S2): each station's message goes to its region's server, and to another one
when that is too busy or dead.

`policy` what is declared; `framing` messages in a stream of bytes, and who sends them; `choice` who
gets a message, and how much of a region goes elsewhere.
"""
