"""The options that decide how records are made of sessions."""

# No annotation is a string here, since the declarations read the types of the fields.
import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chatsquash.core.option_declarations import Conflict, Need, none_of, one_of, option
from chatsquash.core.shape_options import ShapeOptions

Conversations = Literal["last", "main", "all"]
Restore = Literal["none", "reasoning", "results", "all"]
Loss = Literal["none", "weight", "training", "loss"]
Samples = Literal["session", "reply", "auto"]
TooLong = Literal["drop", "cut"]
Pairs = Literal["none", "logged", "counterfactual"]
SampleShape = Literal["prompt-completion", "messages"]
KINDS = ("secrets", "kingfisher", "phones", "ips", "paths", "names")
"""What may be replaced beside e-mail addresses."""
_USUAL_FLAGS: dict[str, Loss] = {
    "chat": "weight",
    "hf": "training",
    "mistral": "weight",
    "openai": "weight",
    "text": "weight",
}
"""The flags of samples in which the last reply is trained on, where no others are asked for; sharegpt has no place."""

_session = partial(option, group="sessions")
_sample = partial(option, group="sampling")
_privacy = partial(option, group="privacy")


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class RecordOptions(ShapeOptions):
    """Which conversations and samples become records, what is replaced in them, and how they are checked."""

    join: bool = option(
        False,
        "Make one session of a gateway's log and the agent's own file about it, and write its main conversation.",
        group="sessions",
    )
    conversations: Conversations | None = option(
        None,
        "Write one conversation of each session: last is that of its last longest request, main the user's "
        "own. Or write all.",
        group="sessions",
        usually="last; of agents' files, each conversation",
    )
    """``None``: the last one of a log, each one of an agent's file."""
    subagents: bool = option(
        True,
        "With --conversations all, also write the conversations of sub-agents.",
        group="sessions",
        needs=(Need("conversations", none_of("all"), "all", "`--no-subagents` without `--conversations all`"),),
    )
    side: bool = option(
        True,
        "With --conversations all, also write what the client asked for itself, such as titles.",
        group="sessions",
        needs=(Need("conversations", none_of("all"), "all", "`--no-side` without `--conversations all`"),),
    )
    restore: Restore = option(
        "none",
        "Put back what the client took out of the history and the log still has: reasoning, results, or all.",
        group="sessions",
        conflicts=(
            Conflict(
                "reasoning",
                one_of("drop"),
                "`--restore reasoning` with `--reasoning drop`; `--restore results` puts back the rest",
                only="reasoning",
            ),
            Conflict(
                "reasoning",
                one_of("drop"),
                "`--restore all` with `--reasoning drop`; `--restore results` puts back the rest",
                only="all",
            ),
            Conflict(
                "preset",
                one_of("openai", "mistral"),
                "`--restore reasoning` with `--preset openai` or `mistral`, which have no place for reasoning; "
                "`--restore results` puts back the rest",
                only="reasoning",
            ),
            Conflict(
                "preset",
                one_of("openai", "mistral"),
                "`--restore all` with `--preset openai` or `mistral`, which have no place for reasoning; "
                "`--restore results` puts back the rest",
                only="all",
            ),
        ),
    )
    loss: Loss = _session(
        "none", "Add a member of this name to each assistant message. It says whether to train on the message."
    )
    restored_loss: int = _session(
        0,
        "1 also trains on replies whose requests lacked what --restore put back.",
        least=0,
        most=1,
        why_most="for yes",
        needs=(Need("loss", one_of("none"), "weight", "`--restored-loss` without `--loss`"),),
        conflicts=(
            Conflict(
                "samples",
                none_of("session"),
                "`--restored-loss` with `--samples`, which have the context that the client sent",
            ),
        ),
    )
    loss_skip_failed: bool = _session(
        False,
        "Do not train on calls that failed and that the model then corrected.",
        needs=(Need("loss", one_of("none"), "weight", "`--loss-skip-failed` without `--loss`"),),
    )
    samples: Samples = _sample(
        "session",
        "session writes one sample a conversation; reply one for each reply, with what the model was sent "
        "before it; auto as few as --template allows without changing that.",
    )
    sample_shape: SampleShape | None = _sample(
        None,
        "How a sample of a reply says what to train on: as prompt and completion, or by a member of its messages.",
        usually="by preset",
        needs=(Need("samples", one_of("session"), "reply", "`--sample-shape` without `--samples reply` or `auto`"),),
    )
    pairs: Pairs = _sample(
        "none",
        "Also write pairs of a preferred and a rejected reply to one request: those in the logs; or, with "
        "counterfactual, also a failed call and its correction.",
    )
    template: bytes | None = _sample(
        None,
        "The model's chat template, a file or the folder of the model. --samples auto needs it; --tokenizer "
        "counts tokens of what it renders.",
        metavar="MODEL",
        content=True,
        needs=(
            Need(
                "samples",
                none_of("auto"),
                "auto",
                "`--template` without `--samples auto`, `--max-tokens` or `--tokenizer`",
            ),
        ),
    )
    """What ``templates.source.packed`` reads of it."""
    tokenizer: bytes | None = _sample(
        None,
        "Count the tokens of records with a tokenizer.json, or with that of a model's folder.",
        metavar="FILE",
        content=True,
    )
    """What ``templates.counting.pack`` reads of it."""
    max_tokens: int | None = _sample(None, "Only write records with at most so many tokens.", least=1)
    too_long: TooLong = _sample(
        "drop",
        "A record with more tokens: drop leaves it out, cut leaves out the exchanges at its end.",
        needs=(Need("max_tokens", one_of(None), "8192", "`--too-long` without `--max-tokens`"),),
    )
    anonymize: bool = option(True, "Replace e-mail addresses with pseudonyms.", group="addresses")
    anonymize_key: bytes | None = option(
        None,
        "The file with the key of the pseudonyms.",
        group="addresses",
        metavar="FILE",
        named="--anonymize-key-file",
        usually="one made for you once",
        secret=True,
        conflicts=(Conflict("anonymize", one_of(False), "`--anonymize-key-file` with `--no-anonymize`"),),
    )
    """The key itself; ``None``: that of the key file, see ``redact.pseudonyms``."""
    redact: str | None = _privacy(
        None,
        "Replace these with placeholders: secrets (or secrets+kingfisher, which adds a second scanner), "
        "phones, ips, paths, names:FILE, emails; or none.",
        metavar="KINDS",
        usually="emails",
    )
    redact_names: bytes | None = _privacy(
        None, "The file with the names, as in --redact names:FILE.", metavar="FILE", content=True
    )
    redact_rules: bytes | None = _privacy(
        None, "Your own rules that find secrets, as TOML.", metavar="FILE", content=True
    )
    redact_pattern: tuple[str, ...] = _privacy(
        (), "Also find what this pattern matches, in linear time.", metavar="NAME=REGEX"
    )
    redact_known: bytes | None = _privacy(
        None,
        "Also find the values in this file, or those with its hashes, wherever they stand.",
        metavar="FILE",
        content=True,
    )
    allow: bytes | None = _privacy(
        None,
        "Pass over the values in this file. A line is a value, re:PATTERN or sha256:HASH.",
        metavar="FILE",
        content=True,
    )
    deny: bytes | None = _privacy(
        None,
        "Take the values in this file for secrets. Its lines are as for --allow.",
        metavar="FILE",
        content=True,
    )
    phone_region: str | None = _privacy(
        None,
        "The country of phone numbers that have no country code, as in DE.",
        metavar="REGION",
        needs=(
            Need(
                "redact",
                lambda kinds: "phones" not in (kinds or "").split(","),
                "phones",
                "`--phone-region` without `--redact phones`",
            ),
        ),
    )
    write_known: str | None = _privacy(
        None, "Write the hashes of the secrets that are found here, for --redact-known.", metavar="FILE"
    )
    integrity_analysis: bool = option(True, "Check the records.", group="checks")
    check_arguments: bool = option(
        False,
        "Check whether the arguments of tool calls fit the tool definitions.",
        group="checks",
        conflicts=(
            Conflict("integrity_analysis", one_of(False), "`--check-arguments` with `--no-integrity-analysis`"),
        ),
    )

    @property
    def shape(self) -> SampleShape:
        """How a sample of a reply says what is trained on."""
        return self.sample_shape or ("prompt-completion" if self.preset == "hf" else "messages")

    @property
    def redacts(self) -> tuple[str, ...]:
        """The kinds that placeholders take the place of, e-mail addresses aside, in order."""
        asked = {part.strip().partition(":")[0] for part in re.split("[,+]", self.redact or "")}
        asked |= {"names"} if self.redact_names is not None else set()
        return tuple(kind for kind in KINDS if kind in asked)

    @property
    def replaces(self) -> bool:
        """Whether anything but e-mail addresses is replaced."""
        return bool(self.redacts or self.redact_pattern or self.deny or self.redact_known)

    @property
    def has_key(self) -> bool:
        """Whether anything is replaced, for which a key is needed."""
        return self.anonymize or self.replaces

    @property
    def flag(self) -> Loss:
        """The member that says which messages are trained on, where records have one."""
        if self.samples == "session" or self.loss != "none":
            return self.loss
        return _USUAL_FLAGS.get(self.preset, "none") if self.shape == "messages" else "none"

    @property
    def cuts(self) -> bool:
        """Whether a record may end before its conversation does."""
        return self.unpaired == "cut" or (self.max_tokens is not None and self.too_long == "cut")

    @property
    def divides(self) -> bool:
        """Whether a session may become several records."""
        return self.conversations in ("main", "all") or self.samples != "session"

    @property
    def writes_last(self) -> bool:
        """Whether the record of a log is that of its last longest request."""
        return self.conversations in (None, "last")
