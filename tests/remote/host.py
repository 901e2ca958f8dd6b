"""An SSH server with SFTP in a process of its own: ``python -m tests.remote.host HOME`` lets in whoever has its key.

It puts the key and what is known of itself below ``HOME/.ssh``, and says its port on the first line.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncssh


async def serve(home: Path) -> None:
    key, user = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    (home / ".ssh").mkdir()
    user.write_private_key(home / ".ssh/id_ed25519")
    user.write_public_key(home / ".ssh/authorized")
    given = {"server_host_keys": [key], "authorized_client_keys": str(home / ".ssh/authorized")}
    server = await asyncssh.listen("127.0.0.1", 0, sftp_factory=True, **given)
    known = f"[127.0.0.1]:{server.get_port()} {key.export_public_key().decode()}"
    (home / ".ssh/known_hosts").write_text(known)
    print(server.get_port(), flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
