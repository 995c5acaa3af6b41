"""The command line: run SQL with Headgate and compare, say why, advise, measure, and show what queries have read.

    headgate sql "select count(*) from fact join dim on k = id" --table fact=data/fact --table dim=data/dim --compare

A bad path, a broken file, bad SQL or a missing Java gives one sentence and exit code 2; ``--debug`` shows the whole
trace, and what Spark itself says.
"""

from headgate.cli.app import app, main

__all__ = ["app", "main"]
