"""Graph queries over tables of edges: each step publishes its frontier, and the scan reads only what may hold it.

from headgate.graph import Graph, cluster

graph = cluster(transfers, "/data/transfers", src="sender", dst="receiver")
graph.expand([4711], hops=3)              # DataFrame(vertex, hop)
graph.shortest_path(4711, 815)            # [4711, 12, 815]
print(graph.explain())                    # what each step published, reached and read
"""

from headgate.graph.frontier import Frontier
from headgate.graph.graph import Graph, expand
from headgate.graph.layout import cluster
from headgate.graph.trace import Publication, Step, Trace

__all__ = ["Frontier", "Graph", "Publication", "Step", "Trace", "cluster", "expand"]
