"""Dynamic filtering for Apache Spark, in Python: read only the rows that can still matter.

import headgate

gate = headgate.enable(spark)      # every query of this session
headgate.explain(df)               # the plan with its dynamic filters, and why not where not
headgate.report(spark)             # what the last query left unread
headgate.publish(df, "user_id")    # a filter of your own, which may move while queries run
headgate.compare(spark, make_df)   # a query off and on: the same rows, and what each read
headgate.streaming_report(query)   # what each micro-batch of a streaming query left unread
headgate.disable(spark)
"""

from headgate import config, domain, filters, graph, prune, read, stream
from headgate.api import disable, enable, explain, filtered, publish, report
from headgate.comparison import Comparison, compare
from headgate.errors import BadInput, HeadgateError, InvalidFilter, InvalidSetting, UnsupportedSession
from headgate.notebook import load_ipython_extension
from headgate.observe import QueryReport
from headgate.publish import Publisher
from headgate.session import Gate
from headgate.stream import StreamingReport, WatermarkFilter, streaming_report

__version__ = "0.1.0"
__all__ = [
    "BadInput",
    "Comparison",
    "Gate",
    "HeadgateError",
    "InvalidFilter",
    "InvalidSetting",
    "Publisher",
    "QueryReport",
    "StreamingReport",
    "UnsupportedSession",
    "WatermarkFilter",
    "__version__",
    "compare",
    "config",
    "disable",
    "domain",
    "enable",
    "explain",
    "filtered",
    "filters",
    "graph",
    "load_ipython_extension",
    "prune",
    "publish",
    "read",
    "report",
    "stream",
    "streaming_report",
]
