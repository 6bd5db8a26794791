"""For people who simulate, compare and reproduce: worlds, simulation, comparators and experiments."""
