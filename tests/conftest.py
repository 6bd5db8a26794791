"""Settings for all tests."""

import os

from hypothesis import settings

# Compiling takes seconds at first use, so examples have no deadline; in CI the same examples are tried every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
