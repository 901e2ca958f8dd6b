"""Archives that somebody else wrote, and sources that somebody else changes while they are copied.

Every row is an archive without encryption, whose objects have the right hashes: whoever can write to a store can write
these. Nothing is written outside the output folder, and every command ends with an error or a counted problem.
"""

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from chatsquash.archive import copying, listing, selection, verification
from chatsquash.archive.restoring import restore
from chatsquash.core.errors import UsageError
from chatsquash.storage.archive import blocks, layout, packs
from chatsquash.storage.archive.cipher import Cipher
from chatsquash.storage.archive.layout import Block, Config, Entry, FileContent, Footer, Snapshot, chunk_id
from chatsquash.storage.archive.repository import open_archive
from tests.archive.cases import MACHINE, contents, poll, restored
from tests.conftest import cases

DATA = b"hi"
ID = "0123456789abcdef" * 2


def forged_pack(store, chunks, change=lambda footer: footer):
    """Write a pack whose table was changed."""
    body, data = bytearray(b"chatsquash pack\n"), b"".join(chunks)
    stored = blocks.compress(data, Cipher())
    block = Block(len(body), len(stored), len(data), len(chunks))
    footer = change(Footer((block,), b"".join(map(chunk_id, chunks)), tuple(map(len, chunks))))
    table = layout.encode(footer)
    stored_table = blocks.compress(table, Cipher())
    end = packs._END.pack(len(stored_table), len(table), packs._END_MARK)
    pack = bytes(body) + stored + stored_table + end
    write(store, layout.pack_key(sha256(pack).hexdigest()), pack)


def write(store, key, data):
    path = store / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def forge(store, entries, *, chunks=(DATA,), machine=MACHINE, config=ID, change=lambda footer: footer, time=1000):
    """Write an archive with these entries."""
    tree = layout.encode(entries)
    write(store, layout.CONFIG, layout.encode(Config(config)))
    forged_pack(store, [tree, *chunks], change)
    data = layout.encode(Snapshot(machine, ("/x",), time, FileContent(len(tree), chunk_id(tree)), 1, 1))
    write(store, layout.snapshot_key(layout.group_of(machine, ("/x",)), time, data), data)


def entry(path=b"/a", content=None, modified=10**18, **other):
    content = content or FileContent(len(DATA), chunk_id(DATA))
    return Entry(path, modified, (0, 0, 2), content, **other)


def opened(store):
    return open_archive(str(store))


@cases(
    "path, machine",
    (b"/../../evil", "m"),
    (b"/evil", ".."),
    (b"/../evil", "m"),
    (b"", "m"),
    (b"/a", ""),
    (b"/a\0b", "m"),
    (b"/./a", "m"),
    (b"/" + b"a" * 5000, "m"),
    ("deep", b"/" + b"a/" * 3000 + b"x", "m"),
)
def test_names_that_cannot_be_restored_are_problems(tmp_path, path, machine):
    forge(tmp_path / "store", [entry(path), entry(b"/fine")], machine=machine)
    output = tmp_path / "x/output"
    report = restore(opened(tmp_path / "store"), output)
    assert report.problems
    assert {each.name for each in tmp_path.iterdir()} == {"store", "x"}
    assert {each.name for each in (tmp_path / "x").iterdir()} == {"output"}
    assert set(contents(output)) <= {"/fine"}


def test_names_of_devices_and_names_that_differ_in_case_are_names_of_files(tmp_path):
    names = [b"/A", b"/CON", b"/a", b"/dev/null"]
    forge(tmp_path / "store", [entry(name) for name in names])
    assert sorted(restored(tmp_path / "store", tmp_path / "output")) == sorted(map(os.fsdecode, names))


def test_control_characters_in_names_are_escaped(tmp_path):
    forge(tmp_path / "store", [entry(b"/a\n\x1b[31m")])
    text = "\n".join(listing.as_text(listing.files(opened(tmp_path / "store"), ()).rows))
    assert "\x1b" not in text
    assert text.count("\n") == 1


def test_links_in_the_output_folder_are_not_followed(tmp_path):
    forge(tmp_path / "store", [entry(b"/a/b")])
    (tmp_path / "output").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "output" / MACHINE).symlink_to(tmp_path / "elsewhere")
    assert restore(opened(tmp_path / "store"), tmp_path / "output").problems
    assert not any((tmp_path / "elsewhere").iterdir())


def test_other_files_in_the_output_folder_are_kept(tmp_path):
    forge(tmp_path / "store", [entry(b"/a")])
    other = tmp_path / "output" / MACHINE / "a.new"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    restored(tmp_path / "store", tmp_path / "output")
    assert other.read_text() == "mine"


def block(**changed):
    """Change the block of a table."""

    def change(footer):
        members = {name: getattr(footer.blocks[0], name) for name in Block.__struct_fields__}
        return Footer((Block(**{**members, **changed}),), footer.ids, footer.sizes)

    return change


TABLES = [
    ("fewer sizes than chunks", block(chunks=9)),
    ("negative count", block(chunks=-1)),
    ("huge block", block(size=2**62)),
    ("huge offset", block(offset=2**64 - 1)),
    ("negative offset", block(offset=-5)),
    ("huge stored size", block(stored_size=2**62)),
    ("negative stored size", block(stored_size=-7)),
    ("a dictionary that needs itself", block(dictionary=chunk_id(DATA))),
    ("negative size", lambda footer: Footer(footer.blocks, footer.ids, (footer.sizes[0] + 4, -2))),
    ("huge size", lambda footer: Footer(footer.blocks, footer.ids, (footer.sizes[0], 2**63))),
    ("more sizes", lambda footer: Footer(footer.blocks, footer.ids, footer.sizes * 9)),
    ("fewer ids", lambda footer: Footer(footer.blocks, footer.ids[:-1], footer.sizes)),
]


@cases("change", *TABLES)
def test_a_changed_table_of_a_pack_is_an_error(tmp_path, command, change):
    forge(tmp_path / "store", [entry()], change=change)
    report = restore(opened(tmp_path / "store"), tmp_path / "output")
    assert (report.files, len(report.problems)) == (0, 1)
    assert verification.verify(opened(tmp_path / "store")).problems
    for arguments in (["ls"], ["restore", "--output", tmp_path / "output"], ["verify"]):
        ended = command("archive", arguments[0], tmp_path / "store", *arguments[1:])
        assert ended.code == 3
        assert "Traceback" not in ended.err


def lists(content, *, depth, width):
    """Return the chunks of a file that is a list of lists, each of the same id."""
    levels = [chunk_id(content) * width]
    for _ in range(depth - 1):
        levels.append(chunk_id(levels[-1]) * width)
    return levels


@cases(
    "content",
    FileContent(2**62, chunk_id(DATA)),
    FileContent(-5, chunk_id(DATA)),
    FileContent(2, b"abc"),
    FileContent(0, b"", 2**40),
    FileContent(2, chunk_id(DATA), -1),
    FileContent(3, chunk_id(DATA)),
    FileContent(1, chunk_id(DATA)),
    FileContent(1, chunk_id(DATA) * 10_000),
)
def test_an_impossible_content_is_a_problem(tmp_path, content):
    forge(tmp_path / "store", [entry(content=content), entry(b"/fine")])
    begin = time.process_time()
    report = restore(opened(tmp_path / "store"), tmp_path / "output")
    assert (report.files, len(report.problems)) == (1, 1)
    assert verification.verify(opened(tmp_path / "store")).problems
    assert time.process_time() - begin < 5
    assert contents(tmp_path / "output") == {"/fine": DATA}


def test_lists_of_lists_do_not_exhaust_memory(tmp_path):
    """The last level would have 10^15 ids."""
    levels = lists(DATA, depth=5, width=1000)
    content = FileContent(1_000_000, chunk_id(levels[-1]), 5)
    forge(tmp_path / "store", [entry(content=content)], chunks=[DATA, *levels])
    report = restore(opened(tmp_path / "store"), tmp_path / "output")
    assert "more chunks than its size allows" in report.problems[0].reason


@cases("modified", 2**63, 2**64 - 1, -(2**63))
def test_times_that_no_file_system_has_are_ignored(tmp_path, modified):
    forge(tmp_path / "store", [entry(modified=modified, deletion=2**62)])
    assert restored(tmp_path / "store", tmp_path / "output") == {"/a": DATA}
    assert listing.as_text(listing.files(opened(tmp_path / "store"), ()))


@cases("identity", "../../evil", "a\0b", "x" * 300, "", ID.upper())
def test_the_name_of_the_index_is_not_taken_from_the_archive(tmp_path, identity):
    forge(tmp_path / "store", [entry()], config=identity)
    with pytest.raises(UsageError, match="config: is damaged"):
        opened(tmp_path / "store")


def test_an_archive_with_the_same_id_does_not_change_the_index_of_another(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.jsonl").write_bytes(b"x" * 5000)
    poll(tmp_path / "mine", tmp_path / "logs")
    config = layout.decode((tmp_path / "mine" / layout.CONFIG).read_bytes(), Config, "config")
    forge(tmp_path / "theirs", [entry()], config=config.id)
    restored(tmp_path / "theirs", tmp_path / "output")
    assert open_archive(str(tmp_path / "theirs")).index.packs() != open_archive(str(tmp_path / "mine")).index.packs()


SECRET = b"not in the source " * 100


@pytest.fixture
def logs(tmp_path):
    """A folder with a log and a file that is elsewhere."""
    (tmp_path / "logs/sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.jsonl").write_bytes(SECRET)
    (tmp_path / "logs/sub/a.jsonl").write_bytes(b"{}\n")
    return tmp_path / "logs"


def swap_file(logs):
    (logs / "sub/a.jsonl").unlink()
    (logs / "sub/a.jsonl").symlink_to(logs.parent / "elsewhere/a.jsonl")


def swap_folder(logs):
    (logs / "sub").rename(logs.parent / "before")
    (logs / "sub").symlink_to(logs.parent / "elsewhere")


def swap_pipe(logs):
    (logs / "sub/a.jsonl").unlink()
    os.mkfifo(logs / "sub/a.jsonl")


def swap_hard_link(logs):
    (logs / "sub/a.jsonl").unlink()
    os.link(logs.parent / "elsewhere/a.jsonl", logs / "sub/a.jsonl")


@cases("swap", swap_file, swap_folder, swap_pipe, swap_hard_link)
def test_a_file_that_is_replaced_between_listing_and_reading_is_a_problem(tmp_path, logs, monkeypatch, swap):
    select = copying.select

    def select_and_swap(*arguments):
        selected = select(*arguments)
        swap(logs)
        return selected

    monkeypatch.setattr(copying, "select", select_and_swap)
    report = poll(tmp_path / "store", logs)
    assert len(report.problems) == 1
    assert SECRET not in restored(tmp_path / "store", tmp_path / "output").values()


def test_links_in_a_source_are_counted_and_not_followed(tmp_path, logs):
    (logs / "file.jsonl").symlink_to(tmp_path / "elsewhere/a.jsonl")
    (logs / "folder").symlink_to(tmp_path / "elsewhere")
    (logs / "loop").symlink_to(logs)
    os.mkfifo(logs / "pipe.jsonl")
    report = poll(tmp_path / "store", logs)
    assert report.skipped == {"links": 3, "special files": 1}
    assert set(restored(tmp_path / "store", tmp_path / "output")) == {str(logs / "sub/a.jsonl")}


def test_links_among_the_files_of_an_agent_are_not_followed(tmp_path, logs, monkeypatch):
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    projects = Path(tmp_path, "home/.claude/projects")
    (projects / "w").mkdir(parents=True)
    (projects / "w/a.jsonl").write_bytes(b"{}\n")
    (projects / "w/b.jsonl").symlink_to(tmp_path / "elsewhere/a.jsonl")
    (projects / "x").symlink_to(tmp_path / "elsewhere")
    report = poll(tmp_path / "store", agents=["claude_code"])
    assert report.skipped == {"links": 2}
    assert set(restored(tmp_path / "store", tmp_path / "output")) == {str(projects / "w/a.jsonl")}


def test_a_folder_that_is_replaced_by_a_link_while_it_is_listed_is_not_followed(tmp_path, logs, monkeypatch):
    add_entry = selection._Walk._add_entry

    def swap_and_add(walk, path, entry, *others):
        if entry.name == "sub":
            swap_folder(logs)
        add_entry(walk, path, entry, *others)

    monkeypatch.setattr(selection._Walk, "_add_entry", swap_and_add)
    report = poll(tmp_path / "store", logs)
    assert report.problems or report.skipped == {"links": 1}
    assert restored(tmp_path / "store", tmp_path / "output") == {}


def test_very_deep_folders_are_a_problem(tmp_path, logs):
    deep = logs
    for _ in range(250):
        deep /= "d"
    deep.mkdir(parents=True)
    report = poll(tmp_path / "store", logs)
    assert "more than 200 folders in each other" in report.problems[0].reason
    assert set(restored(tmp_path / "store", tmp_path / "output")) == {str(logs / "sub/a.jsonl")}


@cases("content", FileContent(0, b"", 2**40), FileContent(1_000_000, chunk_id(lists(DATA, depth=5, width=1000)[-1]), 5))
def test_prune_and_reading_refuse_impossible_contents(tmp_path, command, content):
    chunks = [DATA, *lists(DATA, depth=5, width=1000)]
    forge(tmp_path / "store", [entry(b"/a.jsonl", content)], chunks=chunks)
    for arguments in (["prune", tmp_path / "store", "--older", "1d"], ["verify", tmp_path / "store"]):
        ended = command("archive", *arguments)
        assert ended.code in {1, 3}
        assert "Traceback" not in ended.err
    ended = command("convert", f"archive:{tmp_path / 'store'}", "-o", tmp_path / "out", "--no-anonymize")
    assert ended.code != 0
    assert "Traceback" not in ended.err
