"""What Ollama's server wants of a request: it takes any name and any id, and reasoning of whomever."""

from __future__ import annotations

from chatsquash.formats.providers.ollama.read import PROVIDER
from chatsquash.formats.service import Service

SERVICE = Service(PROVIDER, accepts_reasoning=lambda _: True, prompts=("system",), requires_pairs=False)
