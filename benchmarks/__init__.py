"""What is measured, not tested. ``python -m benchmarks [NAME...]`` runs all, or those whose names begin so.

A benchmark is a module here with a constant ``NAME`` and ``run(report) -> None`` (see `benchmarks.report.Report`).
"""
