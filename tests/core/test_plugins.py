"""Formats of installed packages: entry points of the group ``chatsquash.formats``, in folders of ``sys.path``."""

import json
import os
import subprocess
import sys

import pytest

OWL = '''\
"""Owl's diary: an object with nights."""

from chatsquash.core.model import Conversation

NAME = "owl"
HAS_TOOLS = False


def fits(objects):
    return "nights" if objects and all(isinstance(each, dict) and "nights" in each for each in objects) else None


def conversations(objects):
    return [Conversation([{"role": "user", "content": night} for night in each["nights"]], []) for each in objects]
'''
PARROT = '''\
"""Parrot's service: turns are pairs of a speaker and a text."""

from chatsquash.core.blocks import Text, Turn
from chatsquash.core.model import Response
from chatsquash.formats.base import LoadedTurn, Mark, Marks, Stream, Tools

NAME = "parrot"
PLACE = 25
TURNS, SYSTEM, TOOLS, REFERS, START = "squawks", (), (), (), None
marks = Marks(request=(Mark(6, "squawks", lambda body: isinstance(body.get("squawks"), list)),))


def system(value):
    return []


def load(turn, state):
    who, text = turn
    return LoadedTurn([Turn("assistant" if who == "parrot" else "user", (Text(text),))], state)


def close(state):
    return []


def tools(value):
    return Tools([])


def reply(body):
    return Response({"role": "assistant", "content": body["squawk"]}, 1, "stop")


def assemble(events):
    return Stream(None, False)
'''
LOG = {
    "session_id": "s",
    "timestamp": 1,
    "request": {"squawks": [["sailor", "hello"]]},
    "response": {"squawk": "ahoy"},
}


@pytest.fixture
def install(tmp_path):
    """Add a package with one module, which provides a format."""

    def add(package, text, name, version="1.0", folder="packages"):
        place = tmp_path / folder
        module = package.replace("-", "_")
        (place / f"{module}-{version}.dist-info").mkdir(parents=True)
        (place / f"{module}.py").write_text(text)
        (place / f"{module}-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        (place / f"{module}-{version}.dist-info" / "entry_points.txt").write_text(
            f"[chatsquash.formats]\n{name} = {module}\n"
        )

    return add


@pytest.fixture
def chatsquash(tmp_path):
    """Run the command with the packages; return what it printed to both outputs."""

    def run(*args, code=0, folder="packages"):
        paths = [str(tmp_path / folder), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [os.path.join(os.path.dirname(sys.executable), "chatsquash"), *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_documents_and_exchanges_of_installed_packages_are_read_by_all_workers(install, chatsquash, tmp_path):
    install("owl-logs", OWL, "owl")
    install("parrot-logs", PARROT, "parrot", version="2.1")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.json").write_text(json.dumps({"nights": ["who?"]}))
    (logs / "b.jsonl").write_text(json.dumps(LOG) + "\n")
    chatsquash("convert", "logs", "-q", "-o", "out", "--workers", "2", "--single-file")
    records = (tmp_path / "out" / "conversations.jsonl").read_text().splitlines()
    texts = [[message["content"] for message in json.loads(record)["messages"]] for record in records]
    assert sorted(texts) == [["hello", "ahoy"], ["who?"]]
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["plugins"] == {"owl": "owl-logs 1.0", "parrot": "parrot-logs 2.1"}
    chatsquash("verify", "out")


def test_they_are_listed_with_their_package(install, chatsquash):
    install("parrot-logs", PARROT, "parrot", version="2.1")
    lines = chatsquash("formats").splitlines()
    (line,) = (line for line in lines if line.startswith("parrot "))
    assert line.endswith("Parrot's service (parrot-logs 2.1)")
    names = [line.split()[0] for line in lines if line]
    assert names.index("openai_responses") < names.index("parrot") < names.index("anthropic"), "by its PLACE"
    assert {each["package"] for each in json.loads(chatsquash("formats", "--json"))["documents"]} == {None}


def test_another_version_of_a_package_converts_everything_again(install, chatsquash, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"nights": ["who?"]}))
    install("owl-logs", OWL, "owl", folder="old")
    install("owl-logs", OWL.replace('"content": night}', '"content": night + "!"}'), "owl", version="1.1")
    for folder, text in (("old", "who?"), ("packages", "who?!")):
        chatsquash("convert", "a.json", "-q", "-o", "out", "--single-file", folder=folder)
        record = json.loads((tmp_path / "out" / "conversations.jsonl").read_text())
        assert record["messages"][0]["content"] == text


@pytest.mark.parametrize(
    "text, name, error",
    [
        ("import nowhere\n", "owl", "cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        (OWL.replace("def fits", "def other"), "owl", "does not define fits; see chatsquash.formats.base"),
        (OWL, "codex", "has the same name as a built-in format; rename it, or uninstall the package"),
        (OWL, "eagle", "has a different NAME in its module: 'owl'"),
        (PARROT.replace("NAME = ", "NAME: str = "), "parrot", "must have a line that begins with NAME = in its module"),
    ],
)
def test_a_package_that_cannot_be_used_is_an_error_that_names_it(install, chatsquash, text, name, error):
    install("owl-logs", text, name)
    assert f"error: the format {name!r} from the package owl-logs 1.0 {error}\n" in chatsquash("formats", code=2)


def test_two_packages_with_formats_of_one_name_are_an_error(install, chatsquash):
    install("owl-logs", OWL, "owl")
    install("night-logs", OWL, "owl")
    assert "is also provided by" in chatsquash("formats", code=2)


def test_packages_in_the_working_folder_are_never_imported(install, tmp_path):
    install("owl-logs", "raise SystemExit('imported')\n", "owl", folder=".")
    command = [sys.executable, "-m", "chatsquash", "formats"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, "imported" in done.stdout + done.stderr) == (0, False)
