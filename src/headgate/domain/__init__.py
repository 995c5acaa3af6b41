"""Say which values a column may take: NONE ⊂ set | ranges | bitmap | bloom ⊂ ALL, their algebra and their codecs.

Start with `Domain` (one column) and `TupleDomain` (several); `DomainBuilder` makes a domain from a column of values.
"""

from headgate.domain.binary import decode_binary, encode_binary
from headgate.domain.bloom import BloomBits
from headgate.domain.builder import DomainBuilder, MemoryBudget
from headgate.domain.codec import decode_json, encode_json
from headgate.domain.coerce import coerce, loses_nothing
from headgate.domain.comparison import Comparison, applied, onto_probe
from headgate.domain.constructors import union_all
from headgate.domain.domain import Domain, Kind, describe
from headgate.domain.limits import Limits, within
from headgate.domain.statistics import ColumnStatistics, Verdict, judge
from headgate.domain.tuples import TupleDomain, column_wise_union, strict_union
from headgate.domain.types import ValueType, decimal_type, value_type
from headgate.domain.widen import widen

__all__ = [
    "BloomBits",
    "ColumnStatistics",
    "Comparison",
    "Domain",
    "DomainBuilder",
    "Kind",
    "Limits",
    "MemoryBudget",
    "TupleDomain",
    "ValueType",
    "Verdict",
    "applied",
    "coerce",
    "column_wise_union",
    "decimal_type",
    "decode_binary",
    "decode_json",
    "describe",
    "encode_binary",
    "encode_json",
    "judge",
    "loses_nothing",
    "onto_probe",
    "strict_union",
    "union_all",
    "value_type",
    "widen",
    "within",
]
