"""`python -m causal_bandits.cli`."""

from . import main

main()
