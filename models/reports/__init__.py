"""What people read about a trained version: its report, model card, and comparison with another.

`report` is the value that training measures where the rows are; `encoding` is its JSON and
`keeping` its file beside the model's. `sheet` joins it with what the artifact knows, and `card`,
`comparison` and `document` (a page that needs no network) are made from sheets on demand. The
page and the console draw with the same `static/report.js`.
"""
