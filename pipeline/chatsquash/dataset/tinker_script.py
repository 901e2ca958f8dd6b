"""The training script for Tinker: ``--for tinker`` writes it with a model and the files of a dataset.

``FromConversationFileBuilder`` of tinker-cookbook 0.6.1 reads the members of a JSONL file as columns, so arguments of
different types are an error; it ignores ``tools`` and ``reasoning_content``, and its renderers do not accept calls that
are dictionaries. The script converts records with the cookbook's own functions.
"""

SCRIPT = '''\
import asyncio
import json
import sys
from pathlib import Path

import chz
import datasets
from tinker_cookbook import model_info
from tinker_cookbook.renderers import TrainOnWhat
from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.data import SupervisedDatasetFromHFDataset, conversation_to_datum
from tinker_cookbook.supervised.types import ChatDatasetBuilder, ChatDatasetBuilderCommonConfig
from tinker_cookbook.third_party.openai_compat import openai_messages_to_tinker

FOLDER = Path(__file__).parent
NAME = {model}
FILES = {files}


def with_text_arguments(message):
    """Return a message whose calls have their arguments as JSON text, as the cookbook expects them."""
    calls = []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.dumps(function["arguments"], ensure_ascii=False)
        calls.append({{**call, "function": {{**function, "arguments": arguments}}}})
    return {{**message, "tool_calls": calls}} if calls else message


def conversation(record, renderer):
    """Return the messages of a record as the cookbook's messages, preceded by the tools as the model expects them."""
    messages = record["messages"]
    converted = openai_messages_to_tinker([with_text_arguments(each) for each in messages])
    marks = [each.get("trainable", each["role"] == "assistant") for each in messages]
    result = [{{**each, "trainable": mark}} for each, mark in zip(converted, marks, strict=True)]
    tools = [each["function"] for each in record.get("tools") or ()]
    if not tools:
        return result
    system = result.pop(0)["content"] if result[0]["role"] == "system" else ""
    prefix = renderer.create_conversation_prefix_with_tools(tools, system)
    return [*({{**each, "trainable": False}} for each in prefix), *result]


def examples(record, renderer):
    """Yield the conversations to train on, with the part of each that has loss."""
    messages = conversation(record, renderer)
    if renderer.has_extension_property:
        if any(each["trainable"] for each in messages):
            yield messages, TrainOnWhat.CUSTOMIZED
        return
    # The renderer writes earlier replies differently, so each reply is trained on as the last one.
    plain = [{{name: value for name, value in each.items() if name != "trainable"}} for each in messages]
    for at, message in enumerate(messages):
        if message["trainable"]:
            yield plain[: at + 1], TrainOnWhat.LAST_ASSISTANT_MESSAGE


@chz.chz
class Records(ChatDatasetBuilder):
    """The records of the dataset folder."""

    def __call__(self):
        config, renderer = self.common_config, self.renderer

        def data(row):
            pairs = examples(json.loads(row["line"]), renderer)
            return [conversation_to_datum(messages, renderer, config.max_length, what) for messages, what in pairs]

        # Rows are lines, because columns would add the members that a message does not have.
        texts = [(FOLDER / file).read_text(encoding="utf-8") for file in FILES]
        lines = [line for text in texts for line in text.split("\\n") if line]
        rows = datasets.Dataset.from_dict({{"line": lines}}).shuffle(seed=0)
        return SupervisedDatasetFromHFDataset(rows, min(config.batch_size, len(lines)), flatmap_fn=data), None


if __name__ == "__main__":
    renderer_name = model_info.get_recommended_renderer_name(NAME)
    common = ChatDatasetBuilderCommonConfig(
        model_name_for_tokenizer=NAME, renderer_name=renderer_name, max_length=32768, batch_size=32
    )
    blueprint = chz.Blueprint(train.Config).apply(
        {{
            "log_path": str(FOLDER / "trained"),
            "model_name": NAME,
            "recipe_name": "chatsquash",
            "renderer_name": renderer_name,
            "dataset_builder": Records(common_config=common),
            "learning_rate": 1e-4,
        }}
    )
    asyncio.run(train.main(blueprint.make_from_argv(sys.argv[1:])))
'''
"""Python source with the fields ``model`` and ``files``; all other braces are doubled."""
