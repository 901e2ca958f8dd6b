"""Bodies of requests and responses as providers' services take and give them, a module each."""

from __future__ import annotations

from types import ModuleType

from tests.simulator.styles import anthropic, gemini, openai, responses

STYLES: dict[str, ModuleType] = {
    "openai": openai,
    "anthropic": anthropic,
    "responses": responses,
    "gemini": gemini,
}
