"""Ratios measured side by side in one run; `make bench` prints them and writes results.json."""

import os

os.environ.setdefault("CAUSAL_BANDITS_COMPILE", "now")  # what is measured is compiled
