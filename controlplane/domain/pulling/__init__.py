"""From the answers of a metric source to samples: what counts, and what is a finding.

- `asked`: one round of questions, and what it gave.
- `questions`: what is wrong with whole questions and answers.
- `joining`: series to samples, and what is wrong with single series.
"""
