"""What Ollama's server wants of a request: it takes any name and any id, and reasoning of whomever."""

from __future__ import annotations

from chatsquash.formats.providers.ollama.read import PROVIDER
from chatsquash.formats.service import Service

SERVICE = Service(PROVIDER, takes=lambda _: True, prompts=("system",), pairs=False)
