"""How many examples a Hypothesis test takes: its own quick number, times what the profile asks for."""

from hypothesis import HealthCheck, settings

__all__ = ["scaled"]

QUICK = 100  # what the quick profile, and Hypothesis itself, take


def scaled(quick: int) -> settings:
    """`quick` examples under the quick profile, as many more under others as these take more; of any shape and at any speed."""
    return settings(
        max_examples=max(1, quick * settings.default.max_examples // QUICK), deadline=None, suppress_health_check=list(HealthCheck)
    )
