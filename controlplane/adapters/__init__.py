"""One module or small folder per outside thing.

An adapter translates and talks: it decides nothing, retries nothing and knows no sibling.
"""
