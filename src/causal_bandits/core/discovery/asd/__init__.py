"""ASD-JCI123kt: exact causal discovery over all graphs, by enumeration or by answer set programming.

`statements` weighs independence statements, `separation` knows which hold in which graph, `enumeration` and `asp`
find the graphs of least loss, `asd` is the discovery, `result` what it finds in a table.
"""

from .asd import ASD, discover
from .result import DiscoveredGraphs

__all__ = ["ASD", "DiscoveredGraphs", "discover"]
