"""Renew the kept report: ``python -m tests.report.write_golden``."""

from jobs.compare_documents import as_csv, as_json
from jobs.compare_page import html, markdown
from tests.report.test_documents import GOLDEN, world


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, made in (("html", html), ("md", markdown), ("json", as_json), ("csv", as_csv)):
        (GOLDEN / f"comparison.{name}").write_text(made(world()), encoding="utf-8")


if __name__ == "__main__":
    main()
