"""The hand-written tables of the reference name the columns and files that the code writes."""

import re
from itertools import cycle
from pathlib import Path

from chatsquash import Options, convert
from chatsquash.dataset import columns
from chatsquash.dataset.session_table import COLUMNS
from tests.conftest import cases

ROOT = Path(__file__).parents[2]


def rows(page, heading):
    """The cells of the tables under a heading, without their heads."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    return [
        [cell.strip() for cell in line[1:-1].split(" | ")] for line in re.findall(r"^\| `.*\|$", section, re.MULTILINE)
    ]


def code_names(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_columns_of_the_session_table_have_the_types_that_the_page_gives():
    documented = {
        name: kind
        for names, kinds, _ in rows("docs/output.md", "reports/sessions.jsonl")
        for name, kind in zip(code_names(names), cycle(kinds.split(", ")))
    }
    actual = {}
    for column in COLUMNS:
        name = column.name.partition("_")[0]
        actual[column.name if column.name in documented else name] = (
            column.kind if column.name in documented else "object"
        )
    assert documented == actual


def test_the_columns_beside_a_record_are_those_that_the_page_lists():
    documented = [name for cells in rows("docs/dataset.md", "Metadata columns") for name in code_names(cells[0])]
    ending = [field.name for field in columns.ENDING if not field.name.endswith("_evidence")]
    beside = [
        *columns.METADATA,
        *columns.CONVERSATION,
        *columns.SAMPLE,
        columns.STEPS[0],
        columns.STEPS[-1],
        columns.FRONT_TRUNCATED,
        columns.TOOLS_SUPPLIED,
        columns.TOKENS,
    ]
    assert sorted(documented) == sorted([*ending, *(field.name for field in beside)])
    assert {f"{name}_evidence" for name in ending} == {field.name for field in columns.ENDING} - set(ending)


def test_the_columns_of_pairs_are_those_that_the_page_lists():
    documented = [code_names(cells[0])[0] for cells in rows("docs/samples.md", "Preference pairs") if len(cells) == 2]
    assert documented == [field.name for field in columns.pair_fields(Options(preset="hf", pairs="logged"))]


@cases("options", {"preset": "hf", "format": "parquet", "media": "keep"}, {"preset": "sharegpt", "media": "drop"})
def test_every_file_of_a_dataset_folder_is_in_the_table(options, tmp_path):
    convert(ROOT / "sample_logs", tmp_path / "out", Options(**options))
    documented = {
        name.split("/")[0] for cells in rows("docs/dataset.md", "The dataset folder") for name in code_names(cells[0])
    }
    actual = {path.name for path in (tmp_path / "out").iterdir()}
    assert actual - documented == set()
    assert documented - actual <= {"images", "dataset_info.json", "traces", "trainer"}
