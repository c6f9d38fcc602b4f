"""A posterior probability as people read it."""

_ALMOST_SURE, _ALMOST_OUT = 0.999, 0.001


def posterior_text(posterior: float) -> str:
    """Return a posterior that is never rounded to certainty: ``0.963``, ``above 0.999``, ``below 0.001``."""
    if posterior > _ALMOST_SURE:
        return f"above {_ALMOST_SURE}"
    return f"below {_ALMOST_OUT}" if posterior < _ALMOST_OUT else f"{posterior:.3g}"
