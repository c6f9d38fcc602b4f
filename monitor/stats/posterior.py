"""A posterior probability as people read it."""

_ALMOST_SURE = 0.999


def posterior_text(posterior: float) -> str:
    """Return a posterior that is never rounded to certainty: ``0.963``, ``above 0.999``."""
    return f"above {_ALMOST_SURE}" if posterior > _ALMOST_SURE else f"{posterior:.3g}"
