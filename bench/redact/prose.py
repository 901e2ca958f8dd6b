"""Contexts in what people write to each other, and to agents."""

from __future__ import annotations

NAMED = {
    "chat-assignment": ("chat", "ok here is my env for the {word} job:\n\n<<NAME>>=<<value>>\n\ncan you run it?"),
    "chat-colon": ("chat", "The {word} service wants a new one. <<NAME>>: <<value>>\nPlease update it."),
    "chat-export": (
        "chat",
        (
            "[1{n1}:0{n1}] {word}: did you get it?\n[1{n1}:1{n1}] {word}: yes, <<NAME>>=<<value>>\n"
            "[1{n1}:2{n1}] {word}: thx"
        ),
    ),
    "mail": (
        "chat",
        (
            "Hi {Word},\n\nas promised, for the {word} account:\n\n  <<NAME>>: <<value>>\n\nIt expires in 90 days.\n"
            "\nBest,\n{Word}"
        ),
    ),
    "markdown-code": ("chat", "Put this into your settings:\n\n```\n<<NAME>>=<<value>>\n```\n\nthen restart {word}."),
}
SHAPES = {
    "prose": ("chat", "Please try it with <<value>> and tell me whether {word} answers."),
    "prose-quoted": ("chat", 'My key is "<<value>>", it worked yesterday with {word}.'),
    "prose-backticks": ("chat", "I get a 401 from {word} when I use `<<value>>`. Why?"),
    "bare-line": ("output", "$ pass show {word}/prod\n<<value>>\n$"),
    "slack-export": ("output", '{"type":"message","user":"U{U8}","text":"new one: <<value>>","ts":"17{d8}.{d6}"}'),
    "csv": (
        "output",
        "id,owner,credential,created\n{d3},{word},<<value>>,2024-0{n1}-1{n1}\n{d3},{word},,2024-0{n1}-1{n1}",
    ),
    "error-message": (
        "output",
        "Error: Incorrect API key provided: <<value>>. You can find yours in the {word} dashboard.",
    ),
    "json-array": ("output", '{"rotation": {"{word}": ["<<value>>"], "next": null}}'),
    "code-comment": (
        "file src/{word}.py",
        "# was <<value>> until {word} rotated it\ndef {word}(n: int) -> int:\n    return n",
    ),
    "test-fixture": (
        "file tests/test_{word}.py",
        'def test_{word}(client):\n    assert client.get("/v1/{word}", "<<value>>") == 200',
    ),
}
PASSWORDS = {
    "chat-password": ("chat", "the server is {word}.internal, user {word}, password: <<value>>"),
    "mail-password": (
        "chat",
        "Dear {Word},\n\nyour account is ready.\n\nUsername: {word}\nPassword: <<value>>\n\nPlease change it.",
    ),
}
BLOCKS = {"block-chat": ("chat", "why does ssh say invalid format?\n\n<<value>>\n\nit is the key for {word}")}
CONTEXTS = {"names": NAMED, "any": SHAPES, "password": PASSWORDS, "block": BLOCKS}
