"""The constraints of Ollama's server on requests; any name, id and reasoning is accepted."""

from __future__ import annotations

from chatsquash.formats.providers.ollama.read import PROVIDER
from chatsquash.formats.service import Service

SERVICE = Service(PROVIDER, accepts_reasoning=lambda _: True, prompts=("system",), requires_pairs=False)
