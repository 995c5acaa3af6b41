"""The settings: ``spark.headgate.*``, keywords of `headgate.enable`, settable per query with SQL ``SET``.

A bad value is refused with the values that are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from headgate.errors import InvalidSetting

PREFIX = "spark.headgate."
_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name, default text, the pattern its text must match, what is allowed, and what it does."""

    name: str
    default: str
    pattern: str
    allowed: str
    read: Callable[[str], Any]
    help: str = ""

    @property
    def key(self) -> str:
        """The name in Spark's configuration."""
        return PREFIX + self.name


def _bytes(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower()).groups()  # type: ignore[union-attr]
    return int(number) * _UNITS[unit]


def _seconds(text: str) -> float | None:
    if text.strip().lower() == "auto":
        return None
    number, unit = re.fullmatch(r"([\d.]+)\s*([a-z]+)", text.strip().lower()).groups()  # type: ignore[union-attr]
    return float(number) * _SECONDS[unit]


def _flag(name: str, default: str, help: str) -> Setting:
    return Setting(name, default, "(?i)true|false", "true or false", lambda text: text.strip().lower() == "true", help)


def _size(name: str, default: str, help: str) -> Setting:
    return Setting(name, default, r"(?i)\s*\d{1,15}\s*([kmg]?b?)\s*", "a size such as 10MB", _bytes, help)


def _share(name: str, default: str, help: str) -> Setting:
    return Setting(name, default, r"0|0?\.\d+|1|0\.\d+|1\.0+", "a number from 0 to 1", float, help)


_DURATION = r"(?i)\s*\d+(\.\d+)?\s*(ms|s|m|min|h)\s*"

_PORT = r"0*(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])"

SETTINGS: tuple[Setting, ...] = (
    _flag(
        "enabled",
        "true",
        "whether queries are filtered",
    ),
    Setting(
        "strategy",
        "cost",
        "(?i)cost|always|never",
        "cost, always or never",
        lambda text: text.strip().lower(),
        "`cost` applies filters that pay, `always` every legal filter; `never` only reports which "
        "filters there would be",
    ),
    Setting(
        "maxWait",
        "auto",
        f"(?i)auto|{_DURATION[4:]}",
        "auto or a duration such as 0s or 500ms",
        _seconds,
        "how long a query waits for its filters: `auto` as long as it may pay, `0s` not at all, or a duration",
    ),
    _flag(
        "nonBlocking",
        "true",
        "whether a filter may arrive late; `false` waits for every filter, whatever `maxWait` says",
    ),
    Setting(
        "maxDistinctValues",
        "10000",
        r"\d{1,9}",
        "a whole number from 0",
        int,
        "how many values a filter stores one by one; beyond that it takes a cheaper form",
    ),
    _size(
        "maxFilterBytes",
        "10MB",
        "how large one filter may be; beyond that it takes a cheaper form",
    ),
    _size(
        "memoryLimit",
        "100MB",
        "how much driver memory the filters of one query may use, and also the late filters of all "
        "running queries; a filter that does not fit becomes a range, and if that does not fit, it "
        "lets all rows pass",
    ),
    _flag(
        "rangeFilters",
        "true",
        "whether a filter may be a range",
    ),
    _flag(
        "prunePartitions",
        "true",
        "whether partitions are skipped",
    ),
    _flag(
        "pruneFiles",
        "true",
        "whether files are skipped",
    ),
    _flag(
        "pruneRowGroups",
        "true",
        "whether row groups are skipped",
    ),
    _flag(
        "filterRows",
        "true",
        "whether rows are tested",
    ),
    _share(
        "minSelectivity",
        "0.5",
        "with `cost`: the largest share of a scan that a filter may be expected to keep",
    ),
    _share(
        "queueThreshold",
        "0.7",
        "with `maxWait=auto`: if a smaller share of task slots is busy, a query stops waiting",
    ),
    Setting(
        "refreshMaxWait",
        "1s",
        _DURATION,
        "a duration such as 1s",
        _seconds,
        "how long the coordinator keeps an executor's request for newer filters open; at least 20 ms, at most 1 min",
    ),
    Setting(
        "coordinator.host",
        "auto",
        r"[^\s/]{1,255}",
        "auto, or a name or address of the driver's machine",
        str,
        "the address the coordinator of late filters listens on; `auto` is the driver's own",
    ),
    Setting(
        "coordinator.port",
        "0",
        _PORT,
        "a port from 1 to 65535, or 0 for any that is free",
        int,
        "its port; `0` is any free port. If the port is taken, queries run without late filters, and "
        "the report says so",
    ),
    _flag(
        "page",
        "true",
        "whether the coordinator serves a page of all queries to those who know its token",
    ),
    Setting(
        "eventLog",
        "",
        r"(file://)?(?!.*://).*",
        "a local file that ends in .jsonl, or a local folder; nothing for no log",
        str,
        "where the driver writes a log of all queries, streams and graph walks (JSON lines), for `headgate report` and "
        "`headgate ui`; it holds the text of queries. Read when Headgate is enabled",
    ),
    _flag(
        "classCache",
        "true",
        "whether the Java classes that Spark's compiler makes are kept in the user's cache folder (~/.cache/headgate) "
        "for the next program. Read when Headgate is enabled first",
    ),
    _flag(
        "watermark.strict",
        "false",
        "whether streams drop late rows that Spark would keep",
    ),
    Setting(
        "watermark.slack",
        "0s",
        _DURATION,
        "a duration such as 0s or 5min",
        _seconds,
        "with `watermark.strict`: how late a row may be",
    ),
)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name).replace(".", "_")


_BY_KEYWORD = {_snake(setting.name): setting for setting in SETTINGS}
_DEFAULTS: dict[str, Any] = {name: setting.read(setting.default) for name, setting in _BY_KEYWORD.items()}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force for one query."""

    enabled: bool = _DEFAULTS["enabled"]
    strategy: str = _DEFAULTS["strategy"]
    max_wait: float | None = _DEFAULTS["max_wait"]
    max_distinct_values: int = _DEFAULTS["max_distinct_values"]
    max_filter_bytes: int = _DEFAULTS["max_filter_bytes"]
    memory_limit: int = _DEFAULTS["memory_limit"]
    range_filters: bool = _DEFAULTS["range_filters"]
    prune_partitions: bool = _DEFAULTS["prune_partitions"]
    prune_files: bool = _DEFAULTS["prune_files"]
    prune_row_groups: bool = _DEFAULTS["prune_row_groups"]
    filter_rows: bool = _DEFAULTS["filter_rows"]
    min_selectivity: float = _DEFAULTS["min_selectivity"]
    refresh_max_wait: float | None = _DEFAULTS["refresh_max_wait"]
    queue_threshold: float = _DEFAULTS["queue_threshold"]
    non_blocking: bool = _DEFAULTS["non_blocking"]
    watermark_strict: bool = _DEFAULTS["watermark_strict"]
    watermark_slack: float | None = _DEFAULTS["watermark_slack"]
    coordinator_host: str = _DEFAULTS["coordinator_host"]
    coordinator_port: int = _DEFAULTS["coordinator_port"]
    page: bool = _DEFAULTS["page"]
    event_log: str = _DEFAULTS["event_log"]
    class_cache: bool = _DEFAULTS["class_cache"]


def checked(name: str, value: Any) -> str:
    """Return a keyword of ``enable`` as the text of its setting; refuse what is not allowed."""
    setting = _BY_KEYWORD.get(_snake(name))
    if setting is None:
        known = ", ".join(sorted(_BY_KEYWORD))
        raise InvalidSetting(f"{name!r} is not a setting; the settings are {known}")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not re.fullmatch(setting.pattern, text):
        raise InvalidSetting(f"{setting.key}={text!r} is not allowed; it takes {setting.allowed}")
    return text


def check_setting(key: str, text: str) -> None:
    """Refuse a setting of Headgate's, named as in Spark's configuration, that does not exist or does not take this."""
    if not key.startswith(PREFIX):
        return
    name, known = key.removeprefix(PREFIX), [setting.name for setting in SETTINGS]
    if name not in known:
        near = get_close_matches(name, known, 1)
        guess = f"is it {PREFIX}{near[0]}?" if near else f"what follows {PREFIX} is one of {', '.join(known)}"
        raise InvalidSetting(f"{key} is not a setting; {guess}")
    checked(name, text)


def key_of(name: str) -> str:
    """Return the key in Spark's configuration of a keyword of ``enable``."""
    return _BY_KEYWORD[_snake(name)].key


def is_allowed(key: str, text: str) -> bool:
    """Whether a setting, named as in Spark's configuration, takes this text."""
    return any(setting.key == key and re.fullmatch(setting.pattern, text) for setting in SETTINGS)


def read_settings(configured: Mapping[str, str]) -> Settings:
    """Read the settings from Spark's configuration; a value that cannot be read counts as its default."""
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        text = configured.get(setting.key)
        if text is not None and re.fullmatch(setting.pattern, text):
            found[_snake(setting.name)] = setting.read(text)
    return Settings(**{f.name: found[f.name] for f in fields(Settings) if f.name in found})
