"""The commands: a module for each group, named after it; `routes` has a package.

`audit`, `fleet`, `health`, `processes`, `render`, `replay` and `traffic` hold those that stand
alone, `emergency` those that make intents, `training` and `reports` more of the group `models`.
"""
