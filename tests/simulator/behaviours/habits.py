"""Habits of clients: how they write anew what they send again."""

from tests.simulator.behaviours import behaviour
from tests.simulator.client import Client


@behaviour("rewrite-ids", "client")
def rewrite_ids(client: Client) -> None:
    """Ids of calls are renamed."""
    client.rewrites_ids = True


@behaviour("rewrite-arguments", "client")
def rewrite_arguments(client: Client) -> None:
    """Arguments are spelled anew."""
    client.respells = True


@behaviour("rewrite-reasoning", "client")
def rewrite_reasoning(client: Client) -> None:
    """Reasoning is not sent back."""
    client.strips_reasoning = True


@behaviour("rewrite-parts", "client")
def rewrite_parts(client: Client) -> None:
    """Texts come whole or in parts, with and without marks of a cache."""
    client.parts = True


@behaviour("rewrite-reminders", "client", beside=("edit", "compact", "side", "subagent"))
def rewrite_reminders(client: Client) -> None:
    """Reminders in tags come, move or go."""
    client.reminds = client.words.rng.choice(("moves", "comes", "goes"))


@behaviour("rewrite-clock", "client", beside=("edit", "compact", "side", "subagent"))
def rewrite_clock(client: Client) -> None:
    """The system prompt has a clock."""
    client.clock = True


@behaviour("hard-reminders", "client", hard=True, beside=("edit", "compact", "side", "subagent"))
def hard_reminders(client: Client) -> None:
    """Reminders have no tag."""
    client.reminds = client.words.rng.choice(("moves", "comes", "goes"))
    client.tagged = False


@behaviour("hard-short-texts", "client", hard=True, beside=("edit", "rewind", "regenerate", "compact"))
def hard_short_texts(client: Client) -> None:
    """Most prompts and some answers are a word or two."""
    client.short = True


@behaviour("hard-side-settings", "client", hard=True, beside=("side",))
def hard_side_settings(client: Client) -> None:
    """Side requests have the settings and the model of their conversation."""
    client.plain_side = True


@behaviour("hard-summary", "client", hard=True, beside=("compact",))
def hard_summary(client: Client) -> None:
    """Summaries are respelled and cut before they are used."""
    client.respells_summaries = True


@behaviour("hard-wrapped-prompt", "client", hard=True, beside=("subagent",))
def hard_wrapped_prompt(client: Client) -> None:
    """Prompts of sub-agents stand in a text around them."""
    client.wraps_prompts = True


@behaviour("rewrite-numbers", "client")
def rewrite_numbers(client: Client) -> None:
    """A proxy writes the integers of arguments as floating-point numbers."""
    client.floats = True


@behaviour("rewrite-think-tags", "client", styles=("openai",))
def rewrite_think_tags(client: Client) -> None:
    """Reasoning comes as a ``<think>`` block of the text, which the client removes."""
    client.thinks = True


@behaviour("rewrite-order-of-results", "client")
def rewrite_order(client: Client) -> None:
    """Results of parallel calls are in another order in every other request."""
    client.reorders = True


@behaviour("stored-conversation", "client", styles=("responses",))
def stored_conversation(client: Client) -> None:
    """The server keeps the conversation, and requests contain its id and what is new: calls keep their ids."""
    client.stores, client.rewrites_ids = True, False


@behaviour("summary-lists-prompts", "client", beside=("compact",))
def summary_lists_prompts(client: Client) -> None:
    """Summaries list all prompts word by word, as Claude Code requests them."""
    client.lists_prompts = True


@behaviour("stored-responses", "client", styles=("responses",), beside=("rewind", "regenerate", "subagent"))
def stored_responses(client: Client) -> None:
    """The server keeps responses, and requests contain the id of the last one and what is new."""
    client.stores, client.rewrites_ids, client.names_responses, client.refers_back = True, False, True, True


@behaviour("streamed", "client", beside=("broken", "truncated", "regenerate", "subagent", "choices"))
def streamed(client: Client) -> None:
    """Responses are logged as the text of their server-sent events."""
    client.streams = True
