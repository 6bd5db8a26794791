"""Hostile cases against every door: `python -m benchmarks.fuzz`. Each ends well, or in one sentence of ours."""
