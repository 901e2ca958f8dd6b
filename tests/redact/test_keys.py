"""The key of the pseudonyms: the one named, else the one of the variable, else one made once."""

import os
import sys
from pathlib import Path

import click
import pytest

from chatsquash.core.errors import UsageError
from chatsquash.redaction.pseudonyms import VARIABLE, load_key
from tests.conftest import KEY, cases

OTHER = b"another key of some length"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user who has no key yet; what is returned is where it will be."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = Path(click.get_app_dir("chatsquash")) / "anonymize.key"
    assert own.is_relative_to(tmp_path)
    return own


def test_the_key_that_is_named_comes_first(tmp_path):
    (tmp_path / "key").write_bytes(OTHER)
    assert load_key(str(tmp_path / "key")) == OTHER


def test_the_variable_comes_next():
    assert load_key() == KEY.encode()


def test_an_empty_variable_counts_as_none(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    load_key()
    assert home.exists()


def test_else_a_key_is_made_once_for_its_owner_alone(home):
    key = load_key()
    assert len(key) == 64
    assert home.read_bytes() == key + b"\n"
    assert oct(home.stat().st_mode & 0o777) == "0o600"
    assert [path.name for path in home.parent.iterdir()] == ["anonymize.key"]
    assert load_key() == key


def test_the_umask_opens_nothing(home):
    before = os.umask(0)
    try:
        load_key()
    finally:
        os.umask(before)
    assert oct(home.stat().st_mode & 0o777) == "0o600"
    assert oct(home.parent.stat().st_mode & 0o777) == "0o700"


def test_every_user_gets_another_key(home):
    key = load_key()
    home.unlink()
    assert load_key() != key


def test_of_two_that_make_a_key_at_a_time_the_first_wins(home, monkeypatch):
    link = os.link

    def late(source, target):
        home.write_bytes(OTHER)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert load_key() == OTHER
    assert [path.name for path in home.parent.iterdir()] == ["anonymize.key"]


def test_white_space_around_a_key_is_no_part_of_it(tmp_path):
    (tmp_path / "key").write_bytes(b" \n" + OTHER + b"\r\n")
    assert load_key(str(tmp_path / "key")) == OTHER


@cases(
    "data, message",
    ("a file that is not there", None, "key: the key cannot be read (No such file or directory)"),
    ("an empty file", b"", "key: the key has 0 bytes; at least 16 are required"),
    ("a short key", b"fifteen bytes..\n", "key: the key has 15 bytes; at least 16 are required"),
)
@pytest.mark.parametrize("named", [True, False], ids=["named", "by the variable"])
def test_a_key_that_cannot_be_used_is_an_error(tmp_path, monkeypatch, data, message, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "key")
    if data is not None:
        (tmp_path / "key").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        load_key("key" if named else None)
    assert str(caught.value) == message


def test_a_folder_is_no_key(tmp_path):
    with pytest.raises(UsageError, match=r"the key cannot be read \(Is a directory\)$"):
        load_key(str(tmp_path))


def test_where_no_key_can_be_made_one_must_be_named(home):
    home.parent.parent.parent.mkdir(exist_ok=True)
    (home.parents[1]).touch()
    with pytest.raises(UsageError) as caught:
        load_key()
    reason = "the key cannot be created (Not a directory); pass one with --anonymize-key-file"
    assert str(caught.value) == f"{home}: {reason}"


def test_a_file_system_without_links_is_told(home, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(UsageError, match=r"cannot be created \(Operation not permitted\); pass one with"):
        load_key()
    assert list(home.parent.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the folder has another name")
def test_on_linux_the_key_is_where_configuration_is(home, tmp_path):
    assert home == tmp_path / "config" / "chatsquash" / "anonymize.key"
