"""Real metrics: from CSV files and Prometheus range data to training rows.

- `importing`: one import from beginning to end; `account` is what became of every row.
- `mapping_file`, `mapping`: which column or query is which metric; `mapping_form` has the keys,
  `toml_places` the places of errors.
- `csv_readings`, `range_readings`, `range_answers`: the two sources; `recorded` is what they fill.
- `times`, `units`: what a cell says about time, and what a unit is worth.
- `resampling`, `joining`: one value a period, and rows of them.
- `progress`: how far an import is, for people and programs.
- `series`: one column of numbers over time, as public traces have it.
"""
