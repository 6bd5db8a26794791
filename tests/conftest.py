"""Settings for all tests."""

import hashlib
import os
import tempfile
from pathlib import Path

from hypothesis import settings

SOURCES = Path(__file__).parent.parent / "src"

# numba's cache on disk notices an edit of the file a function stands in, but not of the compiled functions it calls
# from other files. So every state of the sources gets a cache of its own. (Set before numba is imported.)
state = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"causal-bandits-numba-{state}"))

# Compiling takes seconds at first use, so examples have no deadline; in CI the same examples are tried every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
