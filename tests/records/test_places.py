"""Each record is read from where it stands, in every format; what does not stand there is said."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.records import places
from chatsquash.records.datasets import rows
from chatsquash.records.places import Records
from chatsquash.sources.compression import ExpandedFile
from chatsquash.storage.folder import Folder
from chatsquash.view.result import ViewerResult
from tests.conftest import log_line, user, write_log

FORMATS = {
    "lines": {},
    "one file": {"group_by": "none"},
    "jsonl": {"format": "jsonl", "preset": "hf"},
    "jsonl.gz": {"format": "jsonl.gz", "preset": "hf"},
    "jsonl.zst": {"format": "jsonl.zst", "preset": "hf"},
    "parquet": {"format": "parquet", "preset": "hf"},
    "split": {"format": "parquet", "preset": "hf", "split": {"train": 0.5, "test": 0.5}},
    "sharegpt": {"preset": "sharegpt"},
    "all conversations": {"conversations": "all"},
}


@pytest.fixture
def logs(here):
    for at in range(30):
        text = f"é {at} " + "x" * (at * 1000)
        write_log(here / f"logs/2026-01-{at % 3 + 10}/{at}.jsonl", log_line(user(text), session_id=f"s{at}"))
    return here / "logs"


def options(given):
    told = dict(given)
    if "split" in told:
        told["split"] = "train=0.5,test=0.5"
    return Options(anonymize=False, **told)


@pytest.mark.parametrize("given", FORMATS.values(), ids=FORMATS)
def test_each_record_is_the_one_that_the_session_table_names(logs, here, given):
    convert(logs, here / "out", options(given))
    result = ViewerResult(here / "out")
    expected = {}
    for name in result.outputs:
        if name.endswith((".jsonl", ".gz", ".zst", ".parquet")) and not name.startswith("reports/"):
            expected |= {(name, row.number): json.loads(row.data) for row in rows(str(here / "out" / name))}
    found = {}
    for at in reversed(range(result.sessions.height)):  # backwards, so that no read goes on from the last one
        place = result.place(at)
        found[place.file, place.row] = json.loads(result.records.read(place))
    assert found == expected
    assert len(found) == 30


@pytest.fixture
def out(logs, here):
    convert(logs, here / "out", Options(anonymize=False, group_by="none"))
    return ViewerResult(here / "out")


WRONG = {
    "within a line": (Place("conversations.jsonl", 1, 5), "no line begins there"),
    "behind the end": (Place("conversations.jsonl", 1, 1 << 40), "no line begins there"),
    "before the beginning": (Place("conversations.jsonl", 1, -1), "the session table has no offset"),
    "no offset": (Place("conversations.jsonl", 1, None), "the session table has no offset"),
    "a file that is gone": (Place("x.jsonl", 1, 0), "cannot be read"),
    "above the folder": (Place("../secret.jsonl", 1, 0), "cannot be read"),
    "an absolute path": (Place("/etc/secret.jsonl", 1, 0), "cannot be read"),
    "no file of records": (Place("run.json", 1, 0), "not a file of records"),
    "a number beyond all": (Place("conversations.jsonl", 1, 1 << 70), "cannot be read"),
    "a row of Parquet that is none": (Place("conversations.parquet", 1, None), "cannot be read"),
}


@pytest.mark.parametrize(("place", "why"), WRONG.values(), ids=WRONG)
def test_what_does_not_stand_there_is_an_error(out, here, place, why):
    (here / "secret.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(UsageError, match=why):
        out.records.read(place)


@pytest.mark.parametrize("name", ["linked.jsonl", "linked.jsonl.gz", "linked.parquet"])
def test_no_link_leads_out_of_the_folder(out, here, name):
    (here / "secret").write_text('{"messages": []}\n')
    (here / "out" / name).symlink_to(here / "secret")
    with pytest.raises(UsageError, match="cannot be read"):
        out.records.read(Place(name, 1, 0))
    with pytest.raises(UsageError, match="cannot be read"):
        list(places.rows(out.folder, name))


@pytest.mark.parametrize("given", FORMATS.values(), ids=FORMATS)
def test_the_rows_of_a_file_are_those_that_its_path_leads_to(logs, here, given):
    convert(logs, here / "out", options(given))
    result = ViewerResult(here / "out")
    assert result.record_files
    for name, size in result.record_files.items():
        assert list(places.rows(result.folder, name)) == list(rows(str(here / "out" / name)))
        assert size == (here / "out" / name).stat().st_size


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
def test_records_of_a_file_come_in_its_order_and_it_is_expanded_once(logs, here, packing, monkeypatch):
    convert(logs, here / "out", options({"format": packing, "preset": "hf"}))
    result = ViewerResult(here / "out")
    (name,) = result.record_files
    wanted = [result.place(at) for at in (25, 3, 4, 17)]
    expected = {place: result.records.read(place) for place in wanted}
    begun = []
    begin = ExpandedFile._restart
    monkeypatch.setattr(ExpandedFile, "_restart", lambda self: (begun.append(1), begin(self)))
    found = list(places.read_all(result.folder, name, wanted))
    assert [place.row for place, _ in found] == sorted(place.row for place in wanted)
    assert dict(found) == expected
    assert len(begun) == (packing == "jsonl.gz")


def test_only_the_last_records_stay_in_memory(out, monkeypatch):
    monkeypatch.setattr("chatsquash.records.places._CACHE_BYTES", 40_000)
    records = Records(out.folder)
    for at in range(out.sessions.height):
        records.read(out.place(at))
    assert 0 < sum(map(len, records._last.values())) <= 40_000


def test_lines_are_read_in_any_order_from_files_of_which_few_stay_open(logs, monkeypatch):
    convert(logs, "out", options(FORMATS["lines"]))
    monkeypatch.setattr(places, "_OPEN_FILES", 2)
    with closing(Folder(Path("out"))) as folder, closing(places.LinesInOrder(folder)) as lines:
        known = [json.loads(line) for line in Path("out/reports/sessions.jsonl").read_text().splitlines()]
        all_places = [Place(each["file"], each["row"], each["offset"]) for each in known]
        for place in [*all_places, *all_places[::-1]]:
            assert lines.read(place) == places.read(folder, place)
        with pytest.raises(UsageError, match="no line begins there"):
            lines.read(replace(all_places[1], offset=3))
        with pytest.raises(UsageError, match="not a file of records"):
            lines.read(Place("run.json", 1, 0))
