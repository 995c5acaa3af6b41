"""The functions that people call: enable, disable, filtered, publish, explain, report."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, overload

from pyspark.sql import DataFrame, SparkSession

from headgate.catalyst.bridge import is_stopped, session_key
from headgate.config import checked
from headgate.connect import ConnectGate, disable_connect, enable_connect, gate_of_connect, is_connect
from headgate.errors import BadInput
from headgate.history import History
from headgate.observe import QueryReport, explain_text
from headgate.plan import Clustering
from headgate.publish import Publisher
from headgate.session import Gate

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

_gates: dict[str, Gate] = {}
_changing = RLock()
_marked_only: dict[str, Gate] = {}  # sessions that are not enabled, but have filtered DataFrames


@overload
def enable(spark: SparkSession, **options: Any) -> Gate: ...
@overload
def enable(spark: ConnectSession, **options: Any) -> ConnectGate: ...
def enable(spark: Any, **options: Any) -> Any:
    """Filter every query of this session; options are the settings of ``spark.headgate.*`` as keywords.

    Enabling a session that is enabled already changes its settings and is otherwise harmless. In a session of Spark
    Connect, Headgate runs beside the server.
    """
    for name, value in options.items():
        checked(name, value)
    if is_connect(spark):
        return enable_connect(spark, options)
    key = session_key(spark)
    with _changing:
        if (gate := _gates.get(key)) is not None and not gate.is_closed:
            gate.configure(**options)
            return gate
        if (marked_only := _marked_only.pop(key, None)) is not None:
            marked_only.close()  # the new gate filters marked DataFrames as well
        gate = _gates[key] = Gate(spark, **options)
        return gate


def disable(spark: SparkSession | ConnectSession) -> None:
    """Put the session back exactly as it was: its DataFrames of `filtered` and of publishers are plain ones again, too.

    Disabling a session that has nothing of Headgate changes nothing.
    """
    if is_connect(spark):
        disable_connect(spark)
        return
    with _changing:
        for gates in (_gates, _marked_only):
            if (gate := gates.pop(_key_in(gates, spark), None)) is not None:
                gate.close()


def _key_in(gates: Mapping[str, Gate], spark: Any) -> str:
    """Return the key of a session; one that was stopped no longer knows it."""
    if not is_stopped(spark):
        return session_key(spark)
    return next((key for key, gate in gates.items() if gate.spark is spark), "")


def has_marked_only(spark: SparkSession) -> bool:
    """Whether a session is not enabled, but has DataFrames that are filtered."""
    gate = _marked_only.get(session_key(spark))
    return gate is not None and not gate.is_closed


def filter_marked_only(spark: SparkSession) -> None:
    """Filter the marked DataFrames of a session that is not enabled."""
    _gate_of_marked(spark)


def filtered(df: DataFrame) -> DataFrame:
    """Return one DataFrame whose queries are filtered, whether or not its session is enabled.

    Filters are learned anew for each query, so the DataFrame may be kept while its tables change.
    """
    narrowed: DataFrame = _gate_for(df).filtered(df)
    return narrowed


def publish(df: DataFrame, column: str, *, rows: bool = True) -> Publisher:
    """Make a filter of your own: publish which values of a column still matter, before a query runs or while it does.

    The publisher's ``frame`` is the DataFrame to query. Several publishers on one DataFrame are ANDed:
    ``headgate.publish(headgate.publish(df, "day").frame, "user")``. With ``rows=False`` only partitions, files and row
    groups are left out: for queries that test each row themselves.
    """
    return Publisher(_gate_for(df), df, column, rows=rows)


def explain(df: DataFrame) -> None:
    """Print the plan of a DataFrame with its dynamic filters, and for each join and scan without one the reason."""
    if is_connect(df):
        gate = gate_of_connect(df.sparkSession)
        if gate is None:
            raise BadInput("Headgate is not enabled in this session; call headgate.enable(spark)")
        print(gate.explain(df))  # noqa: T201 - as below
        return
    if not isinstance(df, DataFrame):
        raise BadInput(f"explain needs a DataFrame, not {type(df).__name__}; spark.sql(text) makes one of SQL")
    root, found = _gate_for(df).explain(df)
    print(explain_text(root, found))  # noqa: T201 - as DataFrame.explain does


def report(spark: SparkSession | ConnectSession) -> QueryReport:
    """Return the report of the last query of an enabled session, else of the last DataFrame of `filtered` that ran."""
    gate: Gate | ConnectGate | None
    if is_connect(spark):
        gate = gate_of_connect(spark)
    else:
        key = session_key(spark)
        gate = gate_of(spark) or _marked_only.get(key)
    if gate is None:
        return QueryReport(note="Headgate is not enabled in this session; call headgate.enable(spark)")
    return gate.report()


def gate_of(spark: Any) -> Gate | None:
    """Return the gate of an enabled session, or None."""
    gate = _gates.get(session_key(spark))
    return None if gate is None or gate.is_closed else gate


def clustering(df: DataFrame, column: str) -> Clustering:
    """Say how well the row groups that a DataFrame reads separate the values of a column."""
    return _gate_for(df).clustering(df, column)


def history_of(df: DataFrame) -> History:
    """Return the records of a DataFrame's session, for operations of several queries that tell their own story."""
    return _gate_for(df).history


def _gate_for(df: DataFrame) -> Gate:
    """Return the session's gate, or one that lets the session's own queries pass untouched."""
    return gate_of(df.sparkSession) or _gate_of_marked(df.sparkSession)


def _gate_of_marked(spark: SparkSession) -> Gate:
    key = session_key(spark)
    with _changing:
        if key not in _marked_only or _marked_only[key].is_closed:
            _marked_only[key] = Gate(spark, only_marked=True)
        return _marked_only[key]
