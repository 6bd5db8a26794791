"""Graphs with directed and bidirected edges, cycles allowed.

mixed.py         MixedGraph: the graph, its families, interventions and context variables
masks.py         the same graph as integers, one bit per node, for fast set work
separation.py    d-, m- and sigma-separation; which sets separate the interventions from the target
enumeration.py   all DAGs over a few nodes, and their classes up to permuting the non-target nodes
pomis.py         where to intervene: the minimal intervention sets that may be optimal; latent projection
random.py        random DAGs as in the paper's appendix B.2, random mixed graphs
exchange.py      networkx in and out
"""

from .enumeration import DagClass, all_dags, dag_classes
from .exchange import from_networkx, plain_graph, to_networkx
from .masks import Masks
from .mixed import MixedGraph, Names
from .pomis import latent_projection, pomis_sets
from .random import random_dag, random_mixed_graph
from .separation import separated, separates, separating_sets

__all__ = [
    "DagClass",
    "Masks",
    "MixedGraph",
    "Names",
    "all_dags",
    "dag_classes",
    "from_networkx",
    "latent_projection",
    "plain_graph",
    "pomis_sets",
    "random_dag",
    "random_mixed_graph",
    "separated",
    "separates",
    "separating_sets",
    "to_networkx",
]
