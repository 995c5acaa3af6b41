"""Settings are read, and a bad value is refused with the values that are allowed."""

from __future__ import annotations

import pytest
from settings_page import PAGE, page

from headgate.config import SETTINGS, Settings, checked, key_of, read_settings
from headgate.errors import InvalidSetting


def test_defaults_are_what_the_settings_say() -> None:
    """Reading each default text gives the default value."""
    assert read_settings({s.key: s.default for s in SETTINGS}) == Settings() == read_settings({})


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("maxFilterBytes", "3kb", "max_filter_bytes", 3072),
        ("memoryLimit", "1g", "memory_limit", 1 << 30),
        ("maxWait", "500ms", "max_wait", 0.5),
        ("maxWait", "0s", "max_wait", 0.0),
        ("maxWait", "auto", "max_wait", None),
        ("strategy", "ALWAYS", "strategy", "always"),
        ("minSelectivity", "0.25", "min_selectivity", 0.25),
        ("pruneFiles", "FALSE", "prune_files", False),
        ("maxDistinctValues", "7", "max_distinct_values", 7),
        ("watermark.strict", "true", "watermark_strict", True),
        ("watermark.slack", "5min", "watermark_slack", 300.0),
    ],
)
def test_each_form_is_read(name: str, text: str, field: str, value: object) -> None:
    """Sizes, durations, shares, flags and words have the usual forms."""
    assert getattr(read_settings({f"spark.headgate.{name}": text}), field) == value


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("strategy", "fast", "cost, always or never"),
        ("max_wait", "soon", "auto or a duration"),
        ("max_filter_bytes", "-1", "a size such as"),
        ("min_selectivity", "1.5", "a number from 0 to 1"),
        ("prune_files", "maybe", "true or false"),
        ("max_distinct_values", "many", "a whole number"),
        ("watermark_strict", "perhaps", "true or false"),
        ("watermark_slack", "-1s", "a duration such as"),
    ],
)
def test_a_bad_value_is_refused_with_the_allowed_ones(name: str, value: str, allowed: str) -> None:
    """The message has the key, the value and what is allowed."""
    with pytest.raises(InvalidSetting, match=allowed) as refused:
        checked(name, value)
    assert key_of(name) in str(refused.value)
    assert value in str(refused.value)


def test_a_keyword_stands_for_a_name_with_a_dot() -> None:
    """Python has no dots in keywords."""
    assert key_of("watermark_strict") == "spark.headgate.watermark.strict"
    assert key_of("maxWait") == key_of("max_wait") == "spark.headgate.maxWait"


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    """A typo is told, with all names."""
    with pytest.raises(InvalidSetting, match="prune_row_groups"):
        checked("prune_rows", True)


def test_a_bad_value_in_the_configuration_counts_as_its_default() -> None:
    """A query never fails because of a setting."""
    assert read_settings({"spark.headgate.strategy": "fast"}) == Settings()


def test_the_settings_page_is_the_one_that_is_written() -> None:
    """docs/settings.md is written from the settings; `tools/settings_page.py` writes it again."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert all(setting.help for setting in SETTINGS)
