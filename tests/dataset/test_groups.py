"""Which file a record goes to."""

import pytest

from chatsquash.dataset.groups import LABELS, Groups, sanitise, scenario
from tests.conftest import cases

UUID = "123e4567-e89b-12d3-a456-426614174000"
STAMP = "1736762400000000000"


@cases(
    "stem, expected",
    ("a plain name stays", "billing", "billing"),
    ("one number behind one word stays", "gpt-4", "gpt-4"),
    ("a number behind two parts goes", "google-maps-es-01", "google-maps-es"),
    ("six digits go", "a-b-123456", "a-b"),
    ("seven digits stay", "a-b-1234567", "a-b-1234567"),
    ("digits behind digits stay", "a-2026-01", "a-2026-01"),
    ("a day stays", "run-2026-01-13", "run-2026-01-13"),
    ("digits behind a word with digits go", "a-v2-01", "a-v2"),
    ("other digits stay", "a-b-٠١", "a-b-٠١"),
    ("a number in the middle stays", "a-01-b", "a-01-b"),
    ("a UUID goes", f"billing-{UUID}", "billing"),
    ("in upper case, too", f"billing-{UUID.upper()}", "billing"),
    ("without a dash before it stays", UUID, UUID),
    ("a UUID that is too long stays", f"a-{UUID}0", f"a-{UUID}0"),
    ("19 digits go", f"billing-{STAMP}", "billing"),
    ("18 or 20 digits stay", f"a-{STAMP}0", f"a-{STAMP}0"),
    ("all of them go, in any order", f"maps-es-01-{STAMP}-{UUID}-{STAMP}", "maps-es"),
    ("also one behind the other", "a-b-c-1", "a-b-c"),
    ("where a number shows up it goes, too", f"maps-es-02-{UUID}", "maps-es"),
    ("but two parts are left", f"gpt-4-{UUID}", "gpt-4"),
    ("a line feed at the end is no end", f"a-{STAMP}\n", f"a-{STAMP}\n"),
    ("nothing may be left", f"-{UUID}", ""),
)
def test_a_scenario_is_a_stem_without_what_numbers_its_runs(stem, expected):
    assert scenario(stem) == expected


@cases(
    "label, expected",
    ("letters, digits, dots, dashes and underscores stay", "a.B-1_é日本", "a.B-1_é日本"),
    ("spaces and separators go", "a b/c\\d:e", "a_b_c_d_e"),
    ("control characters go", "a\n\t\x1b[2Jb", "a___[2Jb".replace("[", "_")),
    ("what shells and file systems read goes", "*?\"<>|'$&;", "_" * 10),
    ("bytes that are no text go", "a\udcffb", "a_b"),
    ("no file is hidden", ".hidden", "hidden"),
    ("no path leads up", "../../x", "_.._x"),
    ("no file is nameless", "", "_"),
    ("not even by dots", "...", "_"),
    ("device names are none", "CON", "_CON"),
    ("with a suffix, too", "nul.tar", "_nul.tar"),
    ("numbered, too", "Com1", "_Com1"),
    ("what only begins like one stays", "console", "console"),
    ("spellings of one letter are one", "e\u0301", "é"),
)
def test_labels_become_file_names(label, expected):
    assert sanitise(label) == expected


@pytest.mark.parametrize("label", ["x" * 5000, "日" * 5000, "é" + "x" * 119, "e\u0301" * 5000], ids=lambda x: x[:2])
def test_long_labels_are_cut_to_120_bytes_and_told_apart_by_a_hash(label):
    names = {sanitise(label + end) for end in ("", "1", "2")}
    assert len(names) == 3
    assert all(len(name.encode()) <= 120 for name in names)


def test_120_bytes_are_not_cut():
    assert sanitise("x" * 120) == "x" * 120


@cases(
    "labels, name",
    ("sanitised alike", ["a b", "a_b", "a/b"], "a_b"),
    ("in upper or lower case", ["Maps", "maps", "MAPS"], "Maps"),
    ("in the case of any script", ["STRASSE", "straße"], "STRASSE"),
    ("long and in upper or lower case", ["X" * 500, "x" * 500], sanitise("X" * 500)),
)
def test_labels_that_are_alike_share_the_file_of_the_first(labels, name):
    groups = Groups()
    assert [groups.file(label) for label in labels] == [name] * len(labels)


@cases(
    "group_by, day, expected",
    ("date", "2026-01-13", "2026-01-13"),
    ("date", None, "undated"),
    ("scenario", "2026-01-13", "maps-es"),
    ("none", "2026-01-13", "conversations"),
)
def test_sessions_are_grouped_by_day_scenario_or_not_at_all(group_by, day, expected):
    assert LABELS[group_by](day, "maps-es-01") == expected
