"""Hypothesis profiles of the whole project: HYPOTHESIS_PROFILE=long asks twenty times as many questions."""

import os

from hypothesis import HealthCheck, settings

# A loaded machine is no finding, so nothing here is judged by time; a failure prints the blob that repeats it.
COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("quick", COMMON, max_examples=100)
settings.register_profile("long", COMMON, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
