"""A file of many sessions is read in the memory of the largest one, however many there are."""

import copy
import json
import subprocess
import sys
import zipfile

import pytest

from tests.samples.table import ROOT

FEW, MANY = 40, 160
LONG = "tide " * 20_000


def lengthened(value):
    """The same with long texts in the place of those that somebody said."""
    if isinstance(value, dict):
        return {name: long(held) if name == "parts" else lengthened(held) for name, held in value.items()}
    return list(map(lengthened, value)) if isinstance(value, list) else value


def long(parts):
    return [f"{each} {LONG}" if isinstance(each, str) else each for each in parts]


def chats(path, count):
    """An export of ChatGPT with so many conversations."""
    (one, *_) = json.loads((ROOT / "chatgpt" / "conversations.json").read_text(encoding="utf-8"))
    with path.with_suffix(".json").open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(",["[number == 0])
            json.dump({**lengthened(one), "conversation_id": f"c{number}", "id": f"c{number}"}, file)
        file.write("]")
    return path.with_suffix(".json")


def evaluation(path, count):
    """A log of Inspect AI with so many samples."""
    with zipfile.ZipFile(ROOT / "inspect_ai" / "2026-06-01_count.eval") as sample:
        held = {name: json.loads(sample.read(name)) for name in sample.namelist()}
    one = held.pop("samples/q1_epoch_1.json")
    with zipfile.ZipFile(path.with_suffix(".eval"), "w") as file:
        for number in range(count):
            made = copy.deepcopy(one)
            made.update(id=f"q{number}", uuid=f"u{number}")
            made["messages"][1]["content"] = f"{number} {LONG * 4}"
            file.writestr(f"samples/q{number}_epoch_1.json", json.dumps(made))
        for name, value in held.items():
            file.writestr(name, json.dumps(value))
    return path.with_suffix(".eval")


def capture(path, count):
    """A capture with so many exchanges."""
    held = json.loads((ROOT / "har" / "tides.har").read_text(encoding="utf-8"))
    asked = next(each for each in held["log"]["entries"] if each["request"]["method"] == "POST")
    body = json.loads(asked["request"]["postData"]["text"])
    body["messages"][0]["content"] += LONG * 4
    asked["request"]["postData"]["text"] = json.dumps(body)
    with path.with_suffix(".har").open("w", encoding="utf-8") as file:
        file.write('{"log": {"version": "1.2", "entries": [')
        file.write(",".join([json.dumps(asked)] * count))
        file.write("]}}")
    return path.with_suffix(".har")


CONVERTED = """
import sys
from chatsquash import Options, convert
convert(sys.argv[1], sys.argv[2], Options(anonymize=False, redact="none"))
"""
READ = """
import sys
from chatsquash.sources.open import open_file
with open_file(sys.argv[1]) as file:
    while file.read(1 << 20):
        pass
"""
PEAK = """
from pathlib import Path
status = Path("/proc/self/status").read_text()  # since the peak of getrusage is also that of the process that began it
print(int(status.partition("VmHWM:")[2].split()[0]) << 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak where Linux has it")
@pytest.mark.parametrize("made, work", [(chats, CONVERTED), (evaluation, CONVERTED), (capture, READ)])
def test_a_file_of_many_sessions_is_never_held_whole(tmp_path, made, work):
    def peak(count):
        path = made(tmp_path / str(count), count)
        command = [sys.executable, "-c", work + PEAK, path, tmp_path / f"out-{count}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return path.stat().st_size, int(done.stdout)

    (small, few), (large, many) = peak(FEW), peak(MANY)
    assert many - few < (large - small) / 4
