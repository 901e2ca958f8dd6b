"""The limits of Ollama's server for requests: it accepts any name, any id and any reasoning."""

from __future__ import annotations

from chatsquash.formats.providers.ollama.read import PROVIDER
from chatsquash.formats.service import Service

SERVICE = Service(PROVIDER, accepts_reasoning=lambda _: True, prompts=("system",), requires_pairs=False)
