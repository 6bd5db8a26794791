"""Hostile cases against every public call: `python -m benchmarks.fuzz`. Each ends well, or in one sentence of ours."""
