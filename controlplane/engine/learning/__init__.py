"""Models: trained by jobs, tried as shadows, promoted and demoted by steps.

- `models`: champion and shadow of each service; `promotion_log` keeps the steps.
- `retraining` asks when one is due, from `live_errors`; `jobs` is the queue, `workshop` does one
  job, on rows of `dataset`.
- `reports`: what training measured.
"""
