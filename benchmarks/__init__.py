"""Ratios measured side by side in one run; `make bench` prints them and writes results.json."""
