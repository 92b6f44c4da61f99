"""The report of a version, measured where the rows are: facts now, pictures on demand.

`measuring` puts it together; `expectations` asks each strategy what it expects of each row and
candidate; `bands`, `residuals` and `scenes` are its parts. The value itself, its file and its
page are `models.reports`, because the control plane shows them and never imports training.
"""
