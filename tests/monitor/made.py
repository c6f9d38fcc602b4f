"""Verdicts with sensible defaults."""

from datetime import UTC, datetime, timedelta

from monitor.results import Status, Verdict

START = datetime(2026, 11, 29, tzinfo=UTC)


def verdict(status: Status, minute: int, cause: str | None = "weights") -> Verdict:
    return Verdict(
        verdict_id=f"v{minute}", endpoint="a/b", detector="logprob_fidelity", detector_version=1,
        at=START + timedelta(minutes=minute), status=status, cause=cause, statistic="kl_nats", effect=0.3, unit="nats",
        low=0.2, high=0.4, n=10, threshold=0.02, reason=f"because {minute}", run_ids=(),
    )  # fmt: skip
