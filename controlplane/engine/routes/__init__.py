"""The life of routes: drafts, publications, gray releases, rollbacks.

- `life` takes the steps that somebody asks for or whose time has come; `edits` are these steps as
  pure changes of the fleet.
- `gray_releases` watches what a release does to its service before the next step.
"""
