"""What values a column may take: NONE ⊂ set | ranges | bitmap | bloom ⊂ ALL, their algebra and their codecs.

Start with `Domain` (one column) and `TupleDomain` (several); `DomainBuilder` makes a domain from a column of values.
"""

from headgate.domain.binary import decode_binary, encode_binary
from headgate.domain.bloom import BloomBits
from headgate.domain.builder import DomainBuilder, Limits, MemoryBudget
from headgate.domain.codec import decode_json, encode_json
from headgate.domain.coerce import coerce, loses_nothing
from headgate.domain.comparison import applied
from headgate.domain.domain import Domain, Kind, describe, union_all
from headgate.domain.statistics import ColumnStatistics, Verdict
from headgate.domain.tuples import TupleDomain, column_wise_union
from headgate.domain.types import ValueType, decimal_type, value_type

__all__ = [
    "BloomBits",
    "ColumnStatistics",
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
    "loses_nothing",
    "union_all",
    "value_type",
]
