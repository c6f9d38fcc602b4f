"""``weighmaster suite results``: finished runs of a customer."""

from collections.abc import Sequence
from pathlib import Path

from jobs.endpoints_now import exit_code
from jobs.suite_past import results_of, runs
from jobs.suite_report import require_files, show_result, show_runs, write_files
from jobs.suite_store import Record, SuiteStore
from monitor.errors import UsageError


def show_results(
    folder: Path, customer: str, key: str, *, suite: str | None, endpoint: str | None, run: str | None, pin: bool,
    reveal: bool, junit: Path | None, markdown: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """List the runs; show one whole where `run` names it. Returns the exit code of the newest that is shown.

    Raises
    ------
    UsageError
        When there is no such run.
    """
    if run is None and (pin or reveal or junit or markdown):
        raise UsageError("--pin, --reveal, --junit and --markdown are about one run: name it with --run")
    require_files(junit, markdown)
    with SuiteStore.opened(folder, customer, key, making=False) as store:
        found = runs(store, suite, endpoint, run)
        if not found:
            asked = any(one is not None for one in (suite, endpoint, run)) and store.of("done")
            none = f"customer {customer} has no finished run in {folder}; `weighmaster suite run` makes one"
            raise UsageError("no finished run is as you say; without options all are listed" if asked else none)
        if run is None:
            listed = [results_of(store, *one, with_groups=False) for one in found]
            show_runs(listed, as_json=as_json)
            return 0
        (begun, done) = _only(found, run)
        if pin:
            store.append([{"kind": "pin", "run": begun["run"], "key": begun["key"]}])
        result = results_of(store, begun, done, reveal=reveal)
    write_files(result, junit, markdown)
    show_result(result, as_json=as_json)
    return exit_code([result.outcome.status])


def _only(found: Sequence[tuple[Record, Record]], run: str) -> tuple[Record, Record]:
    if len(found) > 1:
        raise UsageError(f"{len(found)} runs begin with {run}; give more of the id")
    return found[0]
