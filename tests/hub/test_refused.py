"""What is never sent: hostile folders, other hosts, a Hub that refuses; and messages that say no secret."""

import json
import os
import re
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from chatsquash import convert
from chatsquash.core.errors import UsageError
from chatsquash.hub.public import parse_url
from tests.conftest import cases, write_log
from tests.hub.conftest import manifest, public
from tests.hub.hub import TOKEN

SECRET = b"a secret of this machine"


@pytest.fixture
def outputs(out):
    """Adds to what ``run.json`` names, or changes it."""

    def add(path, data=SECRET):
        run = manifest(out)
        told = {"path": path, "size": len(data), "lines": 0, "sha256": sha256(data).hexdigest()}
        run["outputs"] = [each for each in run["outputs"] if each["path"] != path] + [told]
        (out / "run.json").write_text(json.dumps(run))

    return add


def data_file(out) -> Path:
    return next((out / "data").iterdir())


def changed(out, _):
    path = data_file(out)
    path.write_bytes(path.read_bytes().replace(b"user", b"USER"))


def grown(out, _):
    with data_file(out).open("ab") as file:
        file.write(b"\n")


def missing(out, _):
    data_file(out).unlink()


def linked(out, outputs):
    (out.parent / "secret").write_bytes(SECRET)
    (out / "data/train-00009-of-00009.jsonl").symlink_to(out.parent / "secret")
    outputs("data/train-00009-of-00009.jsonl")


def linked_folder(out, _):
    (out / "data").rename(out.parent / "elsewhere")
    (out / "data").symlink_to(out.parent / "elsewhere")


def linked_card(out, _):
    (out / "README.md").rename(out.parent / "card")
    (out / "README.md").symlink_to(out.parent / "card")


def pipe(out, outputs):
    os.mkfifo(out / "data/train-00009-of-00009.jsonl")
    outputs("data/train-00009-of-00009.jsonl")


def above(out, outputs):
    (out.parent / "secret").write_bytes(SECRET)
    outputs("../secret")


def above_data(out, outputs):
    (out.parent / "secret").write_bytes(SECRET)
    outputs("data/../../secret")


def absolute(out, outputs):
    (out.parent / "secret").write_bytes(SECRET)
    outputs(str(out.parent / "secret"))


def hidden(out, outputs):
    (out / "data/.env").write_bytes(SECRET)
    outputs("data/.env")


def odd(out, outputs):
    (out / "data/a\nb").write_bytes(SECRET)
    outputs("data/a\nb")


def no_card(out, _):
    run = manifest(out)
    run["outputs"] = [each for each in run["outputs"] if each["path"] != "README.md"]
    (out / "run.json").write_text(json.dumps(run))


def no_records(out, _):
    run = manifest(out)
    run["outputs"] = [each for each in run["outputs"] if not each["path"].startswith("data/")]
    (out / "run.json").write_text(json.dumps(run))


def no_manifest(out, _):
    (out / "run.json").unlink()


def no_list(out, _):
    (out / "run.json").write_text('{"outputs": {"path": 1}}')


HOSTILE = [
    (changed, "`chatsquash verify out` lists all changes"),
    (grown, "`chatsquash verify out` lists all changes"),
    (missing, "cannot be read (No such file or directory); convert again (`chatsquash verify out` lists all changes)"),
    (linked, "cannot be read (symbolic links are not followed)"),
    (linked_folder, "cannot be read"),
    (linked_card, "README.md: cannot be read (symbolic links are not followed"),
    (pipe, "cannot be read (not a regular file)"),
    (above, "not a run.json of chatsquash (ValueError: ../secret)"),
    (above_data, "not a run.json of chatsquash (ValueError: data/../../secret)"),
    (absolute, "not a run.json of chatsquash (ValueError: /"),
    (hidden, "not a run.json of chatsquash (ValueError: data/.env)"),
    (odd, "not a run.json of chatsquash (ValueError: data/a\\nb)"),
    (no_card, "out: no dataset card; convert again"),
    (no_records, "out: no records in data/, which is all that push uploads; convert with --format"),
    (no_manifest, "out/run.json: cannot be read (no run has finished there"),
    (no_list, "not a run.json of chatsquash"),
]


@pytest.mark.parametrize("change, told", HOSTILE, ids=[change.__name__ for change, _ in HOSTILE])
def test_a_folder_that_is_not_as_it_was_written_is_refused_before_the_hub_is_asked(
    push, hub, out, outputs, change, told
):
    change(out, outputs)
    done = push()
    assert (done.code, done.out, hub.asked) == (2, "", []), done
    assert told in done.err


@cases("name", "notes.txt", "reports/notes.txt", "data.txt", "images.txt", ".chatsquash-x/a", "x/data/a")
def test_what_is_named_but_not_meant_for_upload_stays(push, hub, out, outputs, name):
    path = out / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(SECRET)
    outputs(name)
    assert push().code == 0
    assert hub.files().keys() - {".gitattributes"} == public(out).keys() - {name}
    assert not any(SECRET in asked.body for asked in hub.asked)


def test_what_lies_beside_data_and_is_not_named_stays(push, hub, out):
    for name in ("data/train-00009-of-00009.jsonl", "images/0.png", "dataset_info.json"):
        (out / name).write_bytes(SECRET)
    assert push().code == 0
    assert len(hub.files()) == 6
    assert not any(SECRET in asked.body for asked in hub.asked)


def test_files_by_day_are_no_dataset_folder(command, hub, here):
    write_log(here / "logs/a.jsonl")
    convert("logs", "out")
    done = command("push", "out", "hf://me/chats", "--yes")
    assert (done.code, hub.asked) == (2, [])
    assert "no records in data/" in done.err


@pytest.mark.parametrize("name", ["data", "README.md"])
def test_a_file_that_changes_once_it_was_compared_is_in_no_commit(push, hub, out, name):
    path = data_file(out) if name == "data" else out / name

    def change(asked):
        if asked.path == "/api/repos/create":
            path.write_bytes(SECRET)

    hub.before = change
    done = push()
    assert (done.code, set(hub.files())) == (1, {".gitattributes"})
    assert "changed during the upload; nothing was committed" in done.err
    assert not any(SECRET in asked.body for asked in hub.asked)


def test_a_small_file_that_changes_after_it_was_opened_is_in_no_commit(push, hub, out):
    def change(asked):
        if "/preupload/" in asked.path:
            (out / "README.md").write_bytes(SECRET)

    hub.before = change
    done = push()
    assert (done.code, set(hub.files())) == (1, {".gitattributes"})
    assert "README.md: changed during the upload" in done.err


# Connections


def test_bytes_go_to_no_connection_that_is_not_encrypted(push, hub):
    hub.storage = "http://192.0.2.1"
    done = push()
    assert (done.code, set(hub.files())) == (1, {".gitattributes"})
    assert done.err == "error: the Hub redirected to an unencrypted connection; nothing was sent over it\n"


def test_the_token_goes_to_the_hub_alone(push, hub):
    hub.verifying = hub.url.replace("127.0.0.1", "localhost")
    done = push()
    assert (done.code, set(hub.files())) == (1, {".gitattributes"})
    assert done.err == "error: the Hub redirected to another host; the token was not sent there\n"
    assert not hub.sent("verify")


def test_a_hub_that_is_not_encrypted_is_refused(push, hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://example.com")
    done = push()
    assert (done.code, hub.asked) == (2, [])
    assert "HF_ENDPOINT: must be an https:// URL" in done.err


def test_without_a_token_it_is_said_how_to_get_one(push, hub, monkeypatch, here):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(here / "none"))
    monkeypatch.setattr("huggingface_hub.utils._auth._get_token_from_google_colab", lambda: None)
    done = push()
    assert (done.code, hub.asked) == (2, [])
    assert "no token for the Hub; set HF_TOKEN, or log in with `hf auth login`" in done.err


def test_a_hub_that_cannot_be_reached(push, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    done = push()
    assert (done.code, done.out) == (1, "")
    assert "hf://datasets/me/chats: the Hub could not be reached (" in done.err


REFUSALS = [
    (401, "/api/datasets/me/chats", "the Hub rejected the token: set HF_TOKEN to a valid one"),
    (
        403,
        "/api/datasets/me/chats/commit/main",
        "the token does not allow this: use one with write access to the dataset",
    ),
    (404, "/api/datasets/me/chats/commit/main", "not found on the Hub, or not visible with this token"),
    (409, "/api/datasets/me/chats/commit/main", "the dataset changed during the push: push again"),
    (
        500,
        "/api/datasets/me/chats/commit/main",
        "the Hub returned HTTP status 500: push again; files that were already uploaded are not sent again",
    ),
    (400, "/api/validate-yaml", "the Hub returned HTTP status 400"),
    (403, "/storage/.*", "the token does not allow this"),
]


@pytest.mark.parametrize("status, path, told", REFUSALS, ids=[f"{row[0]} {row[1]}" for row in REFUSALS])
def test_what_the_hub_refuses_is_said_in_our_words(push, hub, status, path, told):
    said = json.dumps({"error": SECRET.decode(), "errors": [{"message": SECRET.decode()}]}).encode()
    hub.before = lambda asked: (status, said) if re.fullmatch(path, asked.path) else None
    done = push()
    assert (done.code, told in done.err) == (1, True), done.err
    assert SECRET.decode() not in done.err
    assert set(hub.files() if hub.private else {".gitattributes"}) == {".gitattributes"}


# Names


URLS = [
    ("hf://datasets/me/chats", "me/chats", None),
    ("hf://me/chats", "me/chats", None),
    ("hf://datasets/My-Org/chats_2026.v1", "My-Org/chats_2026.v1", None),
    ("hf://datasets/me/chats@draft", "me/chats", "draft"),
    ("hf://me/chats@refs/pr/1", "me/chats", "refs/pr/1"),
]


@pytest.mark.parametrize("url, name, revision", URLS, ids=[row[0] for row in URLS])
def test_a_url_names_a_dataset(url, name, revision):
    assert parse_url(url) == (name, revision)


@cases(
    "url",
    "me/chats",
    "hf://chats",
    "hf://datasets/chats",
    "hf://models/me/chats",
    "hf://spaces/me/chats",
    "hf://datasets/me/chats/data",
    "hf://datasets/me/../chats",
    "hf://datasets/me/..",
    "hf://datasets/me/a--b",
    "hf://datasets/me/chats@",
    "hf://datasets/me/chats@-x",
    "hf://datasets/me/chats@a b",
    f"hf://datasets/me/chats@{'a' * 40}",
    "hf://datasets/me/chats\n",
    "hf://datasets/mé/chats",
    "hf://user:hidden@datasets/me/chats",
    "https://huggingface.co/datasets/me/chats",
    "s3://me/chats",
)
def test_other_urls_are_refused_and_not_repeated(url):
    with pytest.raises(UsageError) as problem:
        parse_url(url)
    assert "hidden" not in str(problem.value)


def test_an_output_in_a_store_is_refused(command, hub):
    done = command("push", "s3://bucket/out", "hf://me/chats", "--yes")
    assert (done.code, hub.asked) == (2, [])
    assert "only reads local files" in done.err


def test_a_library_that_is_not_installed_is_named_with_what_installs_it(push, hub, monkeypatch):
    for name in ("hub", "connection", "plan", "send"):
        monkeypatch.delitem(sys.modules, f"chatsquash.hub.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    done = push()
    assert (done.code, hub.asked) == (2, [])
    assert "push requires huggingface_hub, which is not installed: pip install 'chatsquash[hub]'" in done.err


def test_the_token_is_in_no_message(push, hub):
    hub.before = lambda asked: (500, TOKEN.encode()) if "/commit/" in asked.path else None
    assert push().code == 1  # push looks for the token in all that is said
