"""Show what Headgate does in two minutes: a star schema, a stream, a moving threshold and a graph, each off and on."""

from headgate.demo import graph, late_rows, star, threshold
from headgate.demo.shown import Shown, Tell

SHOWS = {
    "one week of sales": star.show,
    "a stream with late rows": late_rows.show,
    "a threshold that moves": threshold.show,
    "three hops in a graph": graph.show,
}

__all__ = ["SHOWS", "Shown", "Tell"]
