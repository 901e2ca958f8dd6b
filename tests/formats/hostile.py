"""Databases that look like goose's and are made to take all time or memory of who reads them."""

import sqlite3
from contextlib import closing

SESSIONS = "CREATE TABLE sessions (id TEXT, working_dir TEXT, created_at INT{})"
MESSAGES = "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT{})"
SAID = '[{"type":"text","text":"hi"}]'
FOREVER = "instr(hex(zeroblob(10000000)), hex(zeroblob(5000000)) || '1')"
"""One call into C that takes days."""
LARGE = "zeroblob(900000000)"
_CELLS = 200


def database(path, *more, sessions=SESSIONS.format(""), messages=MESSAGES.format(""), said=SAID, rows=1):
    """A database with a session of so many messages, and with what further statements make of it."""
    with closing(sqlite3.connect(path)) as made:
        made.execute(sessions)
        made.execute(messages)
        made.execute("INSERT INTO sessions (id, working_dir, created_at) VALUES ('s', '/w', 1)")
        insert = "INSERT INTO messages (id, session_id, role, content_json) VALUES (?, 's', 'assistant', ?)"
        made.executemany(insert, [(number, said) for number in range(rows)])
        made.execute("PRAGMA writable_schema = ON")
        for statement in more:
            made.execute(statement)
        made.commit()
    return path.read_bytes()


def computed(what):
    """A statement that has the column x, which was 1, computed otherwise."""
    quoted = what.replace("'", "''")
    return f"UPDATE sqlite_master SET sql = replace(sql, 'AS (1)', 'AS ({quoted})') WHERE type = 'table'"


def schema(name, sql, kind="table", root=0):
    """A statement that says of a name that something else made it."""
    quoted = sql.replace("'", "''")
    values = f"type = '{kind}', sql = '{quoted}'" + ("" if root is None else f", rootpage = {root}")
    return f"UPDATE sqlite_master SET {values} WHERE name = '{name}'"


def bomb(path, levels=4, *, messages=MESSAGES.format("")):
    """A database of some pages whose tree of messages leads to each page 200 times, on so many levels."""
    data = bytearray(database(path, messages=messages))
    size = int.from_bytes(data[16:18])
    with closing(sqlite3.connect(path)) as made:
        (root,) = made.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()
    leaf = bytes(data[(root - 1) * size : root * size])
    first = len(data) // size + 1
    data[(root - 1) * size : root * size] = _interior(size, first)
    for level in range(1, levels):
        data += _interior(size, first + level)
    data += leaf
    data[28:32] = (len(data) // size).to_bytes(4)
    path.write_bytes(data)
    return bytes(data)


def _interior(size, child):
    """A page of a table that has nothing but one child, many times."""
    page = bytearray(size)
    starts = [size - 5 * (number + 1) for number in range(_CELLS)]
    page[0:12] = b"\5\0\0" + _CELLS.to_bytes(2) + starts[-1].to_bytes(2) + b"\0" + child.to_bytes(4)
    for number, start in enumerate(starts):
        page[12 + 2 * number : 14 + 2 * number] = start.to_bytes(2)
        page[start : start + 5] = child.to_bytes(4) + b"\1"
    return bytes(page)


VIRTUAL_FOREVER = {"messages": MESSAGES.format(", x GENERATED ALWAYS AS (1) VIRTUAL")}, [computed(FOREVER)]
"""The tables and statements of a database with a column of messages that takes days to compute."""
