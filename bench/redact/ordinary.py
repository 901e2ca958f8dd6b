"""What agents mostly see: code, listings, logs, results; made of words, and without anything private."""

from __future__ import annotations

from functools import cache
from random import Random

from bench.redact.shapes import text

_LENGTH = 300_000
"""Characters of each sort, of which parts are taken."""
SORTS: dict[str, tuple[str, ...]] = {
    "python": (
        "def {word}_{word}(self, {word}: str, limit: int = {n1}) -> list[{Word}]:\n",
        '    """Return the {word} of a {word}, or raise ``{Word}Error``."""\n',
        "    for {word} in self._{word}.items():\n        if {word}.{word} is None:\n            continue\n",
        "    return [{word}({word}) for {word} in {word}s if {word}.key not in seen]\n\n\n",
        "class {Word}{Word}({Word}Base):\n    {word}: int = {d3}\n    token_count: int = 0\n\n",
        "from {word}.{word} import {Word}, {word}_{word}\n",
        '        raise ValueError(f"no {word} for {{word!r}} at {self.path}:{line}")\n',
        "    assert {word}({n1}, {word}=True) == [{n1}, {n1}, {n1}]\n",
    ),
    "javascript": (
        "export async function {word}{Word}({word}, {{word}, {word}}) {\n",
        "  const { {word}, {word} } = await fetch{Word}(`/api/${{word}}/{word}`);\n",
        "  if (!{word}?.{word}) return { error: '{word} not found', code: {d3} };\n",
        "  return {word}.map(({word}) => ({ ...{word}, key: {word}.id, label: t('{word}.{word}') }));\n}\n\n",
        "import { use{Word}, {Word}Provider } from '@/components/{word}/{Word}';\n",
        '    <{Word} className="flex gap-{n1} px-{n1} text-sm" onClick={() => set{Word}(!{word})}>{{word}}</{Word}>\n',
    ),
    "go": (
        "func (s *{Word}) {Word}(ctx context.Context, {word} *{Word}) (*{Word}, error) {\n",
        '\tif err != nil {\n\t\treturn nil, fmt.Errorf("{word} {word}: %w", err)\n\t}\n',
        (
            "\tfor i := range s.{word} {\n\t\ts.mu.Lock()\n\t\ts.{word}[i] = {word}.{Word}()\n\t\ts.mu.Unlock()\n"
            "\t}\n}\n\n"
        ),
        "\t{word} := make(map[string]*{Word}, len({word}))\n",
    ),
    "listing": (
        "-rw-r--r--  1 dev dev {d5} Mar 1{n1} 1{n1}:2{n1} {word}_{word}.py\n",
        "drwxr-xr-x 1{n1} dev dev  4096 Apr  {n1} 0{n1}:1{n1} {word}\n",
        "src/{word}/{word}/{word}_{word}.ts\n",
        "./packages/{word}/src/components/{Word}{Word}.tsx:{d3}:  const {word} = use{Word}();\n",
    ),
    "tests": (
        "tests/{word}/test_{word}.py::test_{word}_{word}[{n1}-{word}] PASSED    [ {d2}%]\n",
        "tests/test_{word}.py {n1}{n1} passed, {n1} skipped in {n1}.{d2}s\n",
        "E       AssertionError: assert {d3} == {d3}\nE        +  where {d3} = len([{n1}, {n1}])\n",
        "  ✓ {word} renders the {word} with {n1} items ({d2} ms)\n",
    ),
    "build": (
        "   Compiling {word}-{word} v0.{n1}.{n1}\n",
        "[{n1}/{d2}] Building CXX object src/CMakeFiles/{word}.dir/{word}.cpp.o\n",
        "npm warn deprecated {word}@{n1}.{n1}.{n1}: use {word} instead\n",
        "added {d3} packages, and audited {d4} packages in {n1}s\n",
        "Requirement already satisfied: {word}>={n1}.{n1} in ./.venv/lib/python3.12/site-packages ({n1}.{d2}.{n1})\n",
    ),
    "git": (
        (
            "commit {h40}\nAuthor: {Word} {Word}\nDate:   Tue Apr {n1} 1{n1}:3{n1}:0{n1} 2024 +0200\n\n"
            "    {Word} the {word} of {word}\n\n"
        ),
        (
            "diff --git a/src/{word}.py b/src/{word}.py\nindex {h7}..{h7} 100644\n"
            "@@ -{d2},{n1} +{d2},{n1} @@ def {word}({word}):\n"
        ),
        "-    {word} = {word}.{word}({n1})\n+    {word} = {word}.{word}({n1}, {word}=False)\n     return {word}\n",
        " src/{word}/{word}.py | {d2} +++++-----\n",
    ),
    "log": (
        "2024-0{n1}-1{n1}T1{n1}:2{n1}:3{n1}.{d3}Z INFO  {word}.{word} handled {word} in {d3}ms status=200\n",
        "2024-0{n1}-1{n1} 1{n1}:2{n1}:0{n1},{d3} WARNING worker-{n1} {word} is slow: {d4} ms\n",
        'level=info ts=17{d8} caller={word}.go:{d2} msg="{word} synced" count={d3} trace_id={h32}\n',
        '10.0.{n1}.{d2} - - [1{n1}/Apr/2024:0{n1}:2{n1}:11 +0000] "GET /api/{word}/{d4} HTTP/1.1" 200 {d4}\n',
    ),
    "trace": (
        (
            'Traceback (most recent call last):\n  File "/app/{word}/{word}.py", line {d3}, in {word}\n'
            "    {word} = self.{word}({word})\n"
        ),
        "{Word}Error: {word} {d3} has no attribute '{word}'\n\n",
        "    at {word}.{Word}.{word}({Word}.java:{d3})\n",
        "    at async {Word}.{word} (/app/node_modules/{word}/dist/index.js:{d2}:{d2})\n",
    ),
    "json": (
        '    {"id": {d5}, "name": "{word}-{word}", "score": 0.{d3}, "tags": ["{word}", "{word}"], "ok": true},\n',
        '    {"uuid": "{uuid}", "status": "{word}", "created_at": "2024-0{n1}-1{n1}T0{n1}:00:00Z", "parent": null},\n',
        '    "{word}": {"type": "string", "description": "The {word} of the {word}.", "default": "{word}"},\n',
    ),
    "yaml": (
        (
            "  - name: {word}-{word}\n    image: ghcr.io/{word}/{word}:{n1}.{n1}.{n1}\n    ports:\n"
            "      - containerPort: {port}\n"
        ),
        "    resources:\n      limits:\n        memory: {n1}00Mi\n        cpu: {n1}00m\n",
        "    labels:\n      app.kubernetes.io/name: {word}\n      tier: {word}\n",
    ),
    "sql": (
        (
            "SELECT {word}.id, count(*) AS {word}_count FROM {word} JOIN {word} ON {word}.{word}_id = {word}.id "
            "GROUP BY 1;\n"
        ),
        "INSERT INTO {word} VALUES ({d4}, '{word} {word}', '2024-0{n1}-1{n1}', NULL, {n1}.{d2});\n",
        " {d4} | {word}      | {word} {word}    |  {d3}.{d2} | t\n",
    ),
    "markdown": (
        "## {Word} {word}\n\n",
        "The {word} keeps a {word} for each {word}; when the {word} is closed, the {word} is written to the {word}. ",
        "- **{Word}**: how many {word}s a {word} may have (default: {d2}).\n",
        (
            "Run `make {word}` first, then `{word} --{word} {n1}`. If the {word} fails, look at the {word} of the "
            "{word}.\n\n"
        ),
    ),
    "lock": (
        (
            '    "node_modules/{word}-{word}": {\n      "version": "{n1}.{n1}.{n1}",\n'
            '      "integrity": "sha512-{b86}=="\n    },\n'
        ),
        '    {file = "{word}-{n1}.{n1}-py3-none-any.whl", hash = "sha256:{h64}"},\n',
    ),
}
_WEIGHTS = {"python": 6, "javascript": 4, "listing": 3, "tests": 3, "log": 3, "json": 3, "markdown": 4, "git": 3}


def lines(rng: Random, length: int, sort: str = "") -> str:
    """About so many characters of whole lines of one sort."""
    written = _written(sort or rng.choices(list(SORTS), [_WEIGHTS.get(each, 1) for each in SORTS])[0])
    start = rng.randrange(max(1, len(written) - length))
    start = written.find("\n", start) + 1
    return written[start : written.find("\n", start + length) + 1]


def sentences(rng: Random, count: int) -> str:
    """What is said between calls."""
    return " ".join(text(rng, rng.choice(_SAID)) for _ in range(count))


@cache
def _written(sort: str) -> str:
    rng = Random(f"ordinary {sort}")
    pieces: list[str] = []
    length = 0
    while length < _LENGTH:
        pieces.append(text(rng, rng.choice(SORTS[sort])))
        length += len(pieces[-1])
    return "".join(pieces) + "\n"


_SAID = (
    "Let me look at the {word} first.",
    "The {word} test fails because `{word}` is called before `{word}` is set.",
    "I will change `{word}_{word}` in `src/{word}/{word}.py` and run the tests.",
    "That works now: all {d2} tests pass.",
    "The token limit of the {word} is read from the settings, so the {word} has to reload.",
    "Next I check whether {word} and {word} agree.",
    "It seems that the password form of {word} has no label.",
    "There are {n1} places where the key of the {word} is built; I start with the {word}.",
)
