"""Archives of logs: what stands in them is read as if it lay there, and nothing of them is written elsewhere."""

import io
import json
import os
import random
import shutil
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.sources import archives
from chatsquash.sources import open as opening
from chatsquash.sources.names import container
from tests.conftest import log_line, tree, write_log
from tests.outputs import findings, manifest

PLAIN = Options(anonymize=False, group_by="none")
LINE = json.dumps(log_line("hi")).encode()
SAMPLES = Path(__file__).parents[2] / "sample_logs"
TARS = {".tar": "w:", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def packed(folder, path):
    """A folder as an archive, told by its suffix."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in files:
                archive.write(each, each.relative_to(folder.parent))
        return
    mode = next(mode for suffix, mode in TARS.items() if path.name.endswith(suffix))
    with tarfile.open(path, mode) as archive:
        for each in files:
            archive.add(each, each.relative_to(folder.parent))


def zst(folder, path):
    library = pytest.importorskip("zstandard")
    packed(folder, path.with_suffix(""))
    path.write_bytes(library.ZstdCompressor().compress(path.with_suffix("").read_bytes()))
    path.with_suffix("").unlink()


@pytest.fixture
def logs(here):
    """A folder of logs of many kinds: plain, mixed, compressed, documents, a database."""
    for name in ("2026-01-12", "litellm", "pi", "har", "chatgpt", "verifiers"):
        shutil.copytree(SAMPLES / name, here / "d" / name)
    shutil.copytree(SAMPLES / "inspect_ai", here / "d" / "inspect_ai")
    return here / "d"


@pytest.mark.parametrize("suffix", [".zip", *TARS, ".tar.zst"])
def test_an_archive_gives_what_its_folder_gives(logs, here, suffix):
    convert("d", "plain", PLAIN)
    (here / "a").mkdir()
    (zst if suffix == ".tar.zst" else packed)(logs, here / f"a/x{suffix}")
    summary = convert("a", "out", PLAIN)
    assert Path("out/conversations.jsonl").read_bytes() == Path("plain/conversations.jsonl").read_bytes()
    assert {each["path"].partition("!/")[0] for each in manifest()["inputs"]} == {f"a/x{suffix}"}
    assert sorted(os.listdir("out/.chatsquash")) == ["journal", "lock", "state.json", "written.json"]
    assert sorted(os.listdir("a")) == [f"x{suffix}"]
    assert convert("a", "out", PLAIN).unchanged
    assert summary.left_out == {}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("sessions_by", ["id", "chain"])
def test_sessions_are_divided_in_archives_too(logs, here, monkeypatch, workers, sessions_by):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    options = Options(anonymize=False, group_by="none", sessions_by=sessions_by, workers=workers)
    convert("d", "plain", options)
    packed(logs, here / "x.tar.gz")
    packed(logs, here / "y.zip")
    for name in ("x.tar.gz", "y.zip"):
        convert(name, f"out-{name}", options)
        ours, theirs = (
            sorted(Path(f"{each}/conversations.jsonl").read_bytes().splitlines()) for each in (f"out-{name}", "plain")
        )
        assert ours == theirs


def test_what_is_expanded_is_for_its_owner_alone_and_goes(logs, here, monkeypatch):
    packed(logs, here / "x.tar.gz")
    seen = []
    real = archives.entries

    def look(file):
        place = Path(file.name)
        seen.append((place.parent, stat.S_IMODE(place.stat().st_mode)))
        return real(file)

    monkeypatch.setattr(archives, "entries", look)
    convert("x.tar.gz", "out", PLAIN)
    assert (here / "out/.chatsquash/expanded", 0o600) in seen
    assert not Path("out/.chatsquash/expanded").exists()


def hostile_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        good = LINE.decode() + "\n"
        archive.writestr("good.jsonl", good)
        archive.writestr("/etc/absolute.jsonl", good)
        archive.writestr("../above.jsonl", good)
        archive.writestr("C:\\drive.jsonl", good)
        link = zipfile.ZipInfo("link.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("inner.zip", b"PK")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("good.jsonl", good)


def test_members_that_are_no_files_below_are_findings(here):
    hostile_zip(here / "a.zip")
    summary = convert("a.zip", "out", PLAIN)
    assert summary.written == 1
    told = {each["file"].partition("!/")[2]: each["text"] for each in findings("archive-member")}
    assert {name: text.removeprefix("not read").split(":")[0] for name, text in told.items()} == {
        "/etc/absolute.jsonl": " because it has an absolute path",
        "../above.jsonl": " because it has a path that leads outside the archive",
        "C:\\drive.jsonl": " because it has an absolute path",
        "link.jsonl": " because it is a link",
        "good.jsonl": " because it has the name of an earlier member",
    }
    assert summary.others == {"archive in an archive": 1}


def test_an_encrypted_member_is_a_finding(here):
    with zipfile.ZipFile(here / "a.zip", "w") as archive:
        archive.writestr("a.jsonl", LINE)
    data = bytearray((here / "a.zip").read_bytes())
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    (here / "a.zip").write_bytes(data)
    write_log(here / "b.jsonl", log_line("b"))
    summary = convert(["a.zip", "b.jsonl"], "out", PLAIN)
    (found,) = findings("archive-member")
    assert "is encrypted" in found["text"]
    assert not summary.complete


def test_links_and_devices_of_a_tar_are_findings(here):
    with tarfile.open(here / "a.tar", "w") as archive:
        for name, kind in (("l.jsonl", tarfile.SYMTYPE), ("h.jsonl", tarfile.LNKTYPE), ("f.jsonl", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        line = LINE
        info = tarfile.TarInfo("good.jsonl")
        info.size = len(line)
        archive.addfile(info, io.BytesIO(line))
    assert convert("a.tar", "out", PLAIN).written == 1
    assert [each["text"].removeprefix("not read").split(":")[0] for each in findings("archive-member")] == [
        " because it is a link",
        " because it is a link",
        " because it is not a file",
    ]


def test_an_archive_that_is_cut_is_read_up_to_there(logs, here):
    packed(logs, here / "x.tar.gz")
    data = (here / "x.tar.gz").read_bytes()
    (here / "x.tar.gz").write_bytes(data[: len(data) // 2])
    assert convert("x.tar.gz", "out", PLAIN).written > 0
    assert findings("truncated-archive")
    (here / "x.zip").write_bytes(b"PK\3\4 no archive")
    write_log(here / "b.jsonl", log_line("b"))
    convert(["x.zip", "b.jsonl"], "other", PLAIN)
    assert findings("unreadable-archive", out="other")


def test_a_member_that_expands_to_more_than_its_archive_says_is_not_read_on(here):
    with zipfile.ZipFile(here / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", (LINE + b"\n") * 50)
    data = (here / "a.zip").read_bytes()
    size = len((LINE + b"\n") * 50)
    lied = data.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    (here / "a.zip").write_bytes(lied)
    summary = convert("a.zip", "out", PLAIN)
    assert summary.size <= 1000


def test_a_bomb_is_read_up_to_the_bounds(here):
    with tarfile.open(here / "a.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("a.jsonl")
        info.size = 50 << 20
        archive.addfile(info, io.BytesIO(bytes(50 << 20)))
    write_log(here / "b.jsonl", log_line("b"))
    convert(["a.tar.gz", "b.jsonl"], "out", Options(anonymize=False, max_expanded=1 << 20))
    assert findings("truncated-archive", "unreadable-archive")


def test_a_sub_agent_in_an_archive_is_linked_to_the_call_that_began_it(here):
    case = Path(__file__).parents[1] / "golden/claude_code/a_sub_agent_in_a_folder_of_its_session"
    options = json.loads((case / "options.json").read_bytes())
    shutil.copytree(case / "logs", here / "logs")
    packed(here / "logs", here / "a.zip")
    convert("a.zip", "out", Options(**{"anonymize": False, **options, "group_by": "none"}))
    assert Path("out/conversations.jsonl").read_bytes() == (case / "expected.jsonl").read_bytes()


def test_how_members_are_spelled():
    assert container("a/b.zip!/c/d.jsonl") == ("a/b.zip", "c/d.jsonl")
    assert container("b.tar.zst!/c.json") == ("b.tar.zst", "c.json")
    assert container("a!/b.jsonl") is None
    assert container("b.zip") is None


def test_nothing_is_left_where_nothing_could_be_read(here):
    (here / "x.zip").write_bytes(b"PK\3\4")
    with pytest.raises(Exception, match="no session logs to read"):
        convert("x.zip", "out", PLAIN)
    assert "out" not in tree(here)


@pytest.mark.parametrize("bounds", [{"max_expansion": 2}, {"max_expanded": 1000}, {}], ids=str)
def test_a_member_of_a_zip_file_may_not_expand_beyond_the_bounds(here, bounds):
    with zipfile.ZipFile(here / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "large.jsonl", (LINE + b"\n") * 500_000 if not bounds else os.urandom(1000).hex() + "\n" * 9000
        )
        archive.writestr("good.jsonl", LINE.decode() + "\n", zipfile.ZIP_STORED)
    summary = convert("a.zip", "out", Options(anonymize=False, group_by="none", **bounds))
    assert (summary.written, summary.sessions) == (1, 1)
    (found,) = findings("archive-member")
    assert found["file"] == "a.zip!/large.jsonl"
    assert found["text"].startswith("not read because it expands to more than")


def test_members_of_a_zip_file_that_share_their_bytes_are_read_once(here):
    """A directory may name one place very often, so that few bytes come to very many."""
    with zipfile.ZipFile(here / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", LINE.decode() + "\n")
    data = (here / "a.zip").read_bytes()
    begin, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entry = data[begin:end]
    held = entry + entry.replace(b"a.jsonl", b"b.jsonl")
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(held), begin, 0)
    (here / "a.zip").write_bytes(data[:begin] + held + tail)
    assert convert("a.zip", "out", PLAIN).written == 1
    (found,) = findings("archive-member")
    assert found["text"].startswith("not read because it overlaps another member")


def test_an_archive_that_cannot_be_read_is_named_where_there_is_nothing_else(here):
    (here / "a.zip").write_bytes(b"PK\3\4" + bytes(30))
    with pytest.raises(UsageError, match=r"a\.zip is not read: not a readable archive"):
        convert("a.zip", "out", PLAIN)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_member_can_be_named(here, name):
    for each in ("x", "y", "z"):
        write_log(here / f"d/{each}.jsonl", log_line(each))
    write_log(here / "d/odd.data", log_line("odd"))
    packed(here / "d", here / name)
    assert convert(f"{name}!/d/x.jsonl", "out", PLAIN).written == 1
    assert manifest()["inputs"][0]["path"] == f"{name}!/d/x.jsonl"
    assert convert([f"{name}!/d/odd.data", f"{name}!/d/y.jsonl", f"{name}!/d/y.jsonl"], "two", PLAIN).written == 2
    assert convert([f"{name}!/d/y.jsonl", name], "all", PLAIN).sessions == 3
    assert convert([name, f"{name}!/d/y.jsonl"], "all", PLAIN).sessions == 3
    for missing in (f"{name}!/none.jsonl", f"none-{name}!/d/x.jsonl"):
        with pytest.raises(UsageError, match=r"no such (archive|member)"):
            convert(missing, "out", PLAIN)


def test_the_beginning_of_a_member_is_expanded_once(here, monkeypatch):
    monkeypatch.setattr(archives, "_FIRST", 100)
    data = random.Random(1).randbytes(300)
    with zipfile.ZipFile(here / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.jsonl", data)
    begun = []
    monkeypatch.setattr(archives, "_stream", lambda method, new=archives._stream: begun.append(1) or new(method))
    with opening.raw("a.zip!/x.jsonl") as member:
        for start, size in ((0, 120), (0, 60), (60, 60), (120, 500), (99, 1), (300, 5), (0, 100)):
            member.seek(start)
            assert member.read(size) == data[start : start + size]
        assert len(begun) == 2, "the bytes after the first hundred are expanded again"
        for start in range(0, 320, 7):
            member.seek(start)
            assert member.read(150) == data[start : start + 150]
