"""The comparison sees each kind of difference, and nothing in what varies from run to run."""

from tests.conftest import cases
from tests.same_bytes.compare import compared, differences, files

RUN = "out/run.json 100644"
BASE = {"1 convert code": b"0", "1 convert stderr": b"1.25 s for 1.9 MB (2 MB/s)\n", "out/a.jsonl 100644": b"{}\n"}


@cases(
    "new, line",
    ({**BASE, "1 convert code": b"3"}, "1 convert code: line 1, byte 1"),
    ({**BASE, "1 convert stderr": b"1.25 s for 1.8 MB (2 MB/s)\n"}, "1 convert stderr: line 1, byte 11"),
    ({**BASE, "out/a.jsonl 100644": b"{}"}, "out/a.jsonl 100644: line 2, byte 1"),
    ({**BASE, "out/a.jsonl 100644": b"{}\n\n"}, "out/a.jsonl 100644: line 3, byte 1"),
    ({**BASE, "out/b.jsonl 100644": b""}, "out/b.jsonl 100644: additional"),
    ({name: BASE[name] for name in list(BASE)[:2]}, "out/a.jsonl 100644: missing"),
)
def test_each_difference_is_reported(new, line):
    (difference,) = differences(BASE, new)
    assert difference.splitlines()[0] == line


def test_another_mode_is_another_file():
    new = {name.replace("100644", "100600"): data for name, data in BASE.items()}
    assert list(differences(BASE, new)) == ["out/a.jsonl 100600: additional", "out/a.jsonl 100644: missing"]


def test_durations_version_and_compiled_are_not_compared():
    one = b'{\n "chatsquash_version": "0.1.0",\n "compiled": null,\n "seconds": 1.5,\n "sessions": 1\n}'
    other = b'{\n "chatsquash_version": "0.2.0",\n "compiled": "1.0",\n "seconds": 12e-3,\n "sessions": 1\n}'
    assert not list(differences({RUN: one}, {RUN: other}))
    assert list(differences({RUN: one}, {RUN: other.replace(b'"sessions": 1', b'"sessions": 2')}))
    assert list(differences({"out/a.jsonl 100644": one}, {"out/a.jsonl 100644": other})), "records are compared in full"


def test_journals_and_the_lock_are_not_compared():
    assert compared({"out/.chatsquash/lock 100600": b"7", "out/.chatsquash/journal/1-7 100600": b"x"}) == {}


def test_files_of_a_folder_are_read_with_their_modes(tmp_path):
    (tmp_path / "logs").mkdir(mode=0o755)
    (tmp_path / "out").mkdir(mode=0o700)
    (tmp_path / "out" / "a").write_text(f"{tmp_path}/b")
    (tmp_path / "out" / "a").chmod(0o600)
    outcome = files(tmp_path, tmp_path, lambda path: path.parts[0] == "logs")
    assert outcome == {"out 40700": b"", "out/a 100600": b"ROOT/b"}
