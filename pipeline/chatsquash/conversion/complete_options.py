"""Options as a run uses them: validated, with the contents of the files that they name, and with its grouping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatsquash.checks import dataset
from chatsquash.core.options import Options
from chatsquash.dataset.option_rules import refuse_wrong
from chatsquash.reading.sessions import are_call_ids
from chatsquash.redaction.pseudonyms import load_key
from chatsquash.redaction.requests import content, with_kinds
from chatsquash.session.session import finding
from chatsquash.sources.find import Discovery


def with_key(options: Options) -> Options:
    """Validate options and complete them, including the key from the key file.

    Raises:
        UsageError: If an option is invalid or the key file cannot be used.
    """
    if options.trainer is not None:
        from chatsquash.dataset import trainers  # rarely needed

        options = trainers.complete(options)
    if options.loss_labels is not None:
        from chatsquash.session import label_files  # rarely needed

        options = replace(options, loss_labels=label_files.pack(options.loss_labels, "loss_labels", options))
    refuse_wrong(options)
    if options.provenance_key is not None:
        from chatsquash.provenance.statement import refuse_key  # rarely needed

        refuse_key(options.provenance_key)
    if options.template is not None:
        from chatsquash.templates.source import unpack

        unpack(options.template)
    options = with_kinds(options)
    if options.join and options.writes_last:
        options = replace(options, conversations="main")  # the agent's file identifies it, whatever came last
    if not options.has_key or options.anonymize_key:
        return options
    return replace(options, anonymize_key=load_key())


def file_contents(options: Options) -> dict[str, Any]:
    """Read the files that options name; return their contents by option."""
    contents: dict[str, Any] = {}
    if options.tools_file or options.system_file:
        from chatsquash.session.stages import supplied_definitions

        readers = {"tools_file": supplied_definitions.tools, "system_file": supplied_definitions.system}
        paths = {name: getattr(options, name) for name in readers if getattr(options, name)}
        if paths.get("tools_file") == supplied_definitions.SHIPPED:
            contents["tools_file"] = supplied_definitions.shipped()
            del paths["tools_file"]
        contents |= {name: supplied_definitions.read(path, readers[name]) for name, path in paths.items()}
    for name in ("redact_names", "redact_rules", "redact_known", "allow", "deny", "provenance_key"):
        if isinstance(path := getattr(options, name), str):
            contents[name] = content(path)
    if options.loss_labels:
        from chatsquash.session import label_files

        contents["loss_labels"] = label_files.read(str(options.loss_labels), options)
    if options.template:
        from chatsquash.templates.source import pack

        contents["template"] = pack(str(options.template))
    if options.tokenizer or (options.template and options.max_tokens is not None):
        from chatsquash.templates import counting

        if model := str(options.tokenizer or "") or counting.of_template(str(options.template)):
            contents["tokenizer"] = counting.pack(model)
    return contents


def choose_grouping(discovery: Discovery, options: Options) -> Options:
    """Return the options with ``sessions_by`` as ``chain`` if the logs have a new trace id for each call.

    Such an id does not identify a session, so calls can only be grouped by their histories. All sampled logs must be
    rows of LiteLLM without session ids. The choice is reported as a finding of the discovery.
    """
    if options.sessions_by is not None or options.from_format is not None or not are_call_ids(discovery.logs, options):
        return options
    discovery.findings.append(finding(dataset.grouped_by_chain(), "", ""))
    return replace(options, sessions_by="chain")
