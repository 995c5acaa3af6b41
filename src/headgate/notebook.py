"""The cell magic `%%headgate`: run a cell, SQL or Python, with Headgate off and on, and show what was read.

    %load_ext headgate

    %%headgate
    select count(*) from fact join dim on k = id

A cell of Python ends with a DataFrame. It runs several times, so it should have no other effect. `%%headgate?` says
what can stand behind the name.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from typing import Any, NoReturn

from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.statements import refuse_command
from headgate.comparison import Comparison, compare
from headgate.errors import BadInput

_COMMENT = r"(--[^\n]*\n|/\*.*?\*/)"
_COMMANDS = "create|insert|merge|update|delete|drop|alter"  # which are refused as what they are
_SQL = re.compile(rf"\s*({_COMMENT}\s*)*((select|with|from|values|table|{_COMMANDS})\b|\()", re.IGNORECASE | re.DOTALL)
_NAME = "<%%headgate>"

_HELP = """Run the cell with Headgate off and on, compare the rows, and show what was read and how long it took.

    %%headgate [--rounds NUMBER] [--strategy cost|always|never]

The cell is SQL, or Python that ends with a DataFrame. It runs as many rounds off and on as you say.
"""

Names = dict[str, Any]
"""The names of a notebook and what they stand for."""


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the magic; called by ``%load_ext headgate``."""

    def run(line: str, cell: str) -> Comparison:
        return run_cell(cell, shell.user_ns, line)

    run.__doc__ = _HELP
    shell.register_magic_function(run, "cell", "headgate")


def run_cell(cell: str, names: Names, line: str = "") -> Comparison:
    """Run a cell off and on in a notebook's names, and compare; ``line`` has the options behind the magic's name."""
    options = _options(line)
    spark = _session(names)
    if _is_sql(cell):
        text = cell.strip().rstrip(";")
        refuse_command(spark, text, "%%headgate would run it several times")
        return compare(spark, lambda: spark.sql(text), **options)
    body, last = _split(cell)
    return compare(spark, lambda: _frame(body, last, names), **options)


def _session(names: Names) -> SparkSession:
    """Return what the notebook calls `spark`, or else the session that was used last: a library may have its own."""
    named = names.get("spark")
    spark = named if isinstance(named, SparkSession) else SparkSession.getActiveSession()
    if spark is None:
        raise BadInput("there is no Spark session in this notebook; make one with SparkSession.builder.getOrCreate()")
    return spark


class _Options(argparse.ArgumentParser):
    """Options that refuse what they do not know with a sentence, where others end the program."""

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise BadInput(f"%%headgate: {message}; it takes --rounds NUMBER and --strategy cost, always or never")


def _options(line: str) -> Names:
    parser = _Options(add_help=False, allow_abbrev=False)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--strategy")
    try:
        words = shlex.split(line)
    except ValueError as error:
        parser.error(str(error))
    return {name: value for name, value in vars(parser.parse_args(words)).items() if value is not None}


def _is_sql(cell: str) -> bool:
    """Whether a cell is SQL: what begins as SQL does, unless it is Python as it stands (`with open(...):`)."""
    if not _SQL.match(cell):
        return False
    try:
        ast.parse(cell)
    except SyntaxError:
        return True
    return False


def _split(cell: str) -> tuple[Any, Any]:
    """Return the statements of a cell, and the expression that it ends with."""
    try:
        parsed = ast.parse(cell, _NAME)
    except SyntaxError as error:
        raise BadInput(f"the cell is neither SQL nor Python: {error}") from error
    if not parsed.body or not isinstance(parsed.body[-1], ast.Expr):
        raise BadInput("the cell does not end with an expression; let its last line be the DataFrame to compare")
    last = ast.Expression(parsed.body.pop().value)  # type: ignore[attr-defined]
    return compile(parsed, _NAME, "exec"), compile(last, _NAME, "eval")


def _frame(body: Any, last: Any, names: Names) -> DataFrame:
    exec(body, names)
    found = eval(last, names)
    if not isinstance(found, DataFrame):
        raise BadInput(f"the cell ends with {type(found).__name__}; let its last line be the DataFrame to compare")
    return found
