"""Two machines that write to one archive, in a folder and in an object store."""

import threading

import pytest

from chatsquash.archive.verification import verify
from chatsquash.storage.archive import repository
from chatsquash.storage.archive.repository import open_archive
from tests.archive.cases import poll, restored, text


@pytest.fixture(params=["folder", "object store"])
def store(request, tmp_path):
    """The place of an archive."""
    if request.param == "folder":
        return str(tmp_path / "store")
    return f"s3://{request.getfixturevalue('s3').name}/archives/mine"


def test_two_machines_share_content_and_never_replace_each_others_files(store, tmp_path):
    expected = dict[str, dict[str, bytes]]()
    for machine in ("one", "two"):
        folder = tmp_path / machine
        folder.mkdir()
        for seed in range(4):
            (folder / f"{seed}.jsonl").write_bytes(text(seed, 60_000) + machine.encode() * 50)
        expected[machine] = {str(path): path.read_bytes() for path in folder.iterdir()}
    errors = list[BaseException]()

    def run(machine):
        try:
            for count in range(3):
                poll(store, tmp_path / machine, machine=machine)
                grown = tmp_path / machine / "0.jsonl"
                grown.write_bytes(grown.read_bytes() + text(100 + count, 5_000))
            poll(store, tmp_path / machine, machine=machine)
            expected[machine][str(grown)] = grown.read_bytes()
        except BaseException as problem:
            errors.append(problem)

    threads = [threading.Thread(target=run, args=(machine,)) for machine in expected]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert restored(store, tmp_path / "out") == {**expected["one"], **expected["two"]}
    archive = open_archive(store)
    report = verify(archive)
    archive.index.close()
    assert (report.problems, report.snapshots) == ([], 8)


def test_an_archive_that_another_machine_creates_in_the_meantime_is_used(store, tmp_path, monkeypatch):
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
        (tmp_path / machine / "log.jsonl").write_bytes(text(1, 5_000) + machine.encode())
    refuse_foreign = repository._refuse_foreign

    def after_the_other_machine(*arguments):
        monkeypatch.undo()
        poll(store, tmp_path / "one", machine="one")
        refuse_foreign(*arguments)

    monkeypatch.setattr(repository, "_refuse_foreign", after_the_other_machine)
    poll(store, tmp_path / "two", machine="two")
    files = restored(store, tmp_path / "out")
    assert files == {str(path): path.read_bytes() for path in tmp_path.glob("*/log.jsonl")}
