"""Reads a dataset as tinker-cookbook does, and notes what is trained on: ``tinker_rows.py SCRIPT renderer=NAME``.

``SCRIPT`` is the training script of the dataset folder, whose builder is used; with ``builder=cookbook`` the cookbook's
own builder for JSONL files reads the files of the script instead. Only the service itself is not called.
"""

import runpy
import sys
from pathlib import Path

from notes import note_rows, words
from tinker_cookbook import model_info
from tinker_cookbook.renderers import TrainOnWhat
from tinker_cookbook.supervised.data import FromConversationFileBuilder
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig

LENGTH = 32768


def builders(script, renderer="", builder=""):
    """Return the builders of the dataset: that of the script, or the cookbook's for each file."""
    module = runpy.run_path(str(script))
    renderer = renderer or model_info.get_recommended_renderer_name(module["NAME"])
    common = {"model_name_for_tokenizer": module["NAME"], "renderer_name": renderer}
    common |= {"max_length": LENGTH, "batch_size": 1}
    if not builder:
        return [module["Records"](common_config=ChatDatasetBuilderCommonConfig(**common))]
    config = ChatDatasetBuilderCommonConfig(**common, train_on_what=TrainOnWhat.CUSTOMIZED)
    paths = [str(script.parent / file) for file in module["FILES"]]
    return [FromConversationFileBuilder(common_config=config, file_path=path) for path in paths]


def rows(datasets):
    """Yield the tokens of each example, with whether there is loss on them; the first one is never a target."""
    for builder in datasets:
        dataset, _ = builder()
        for at in range(len(dataset)):
            for datum in dataset.get_batch(at):
                targets = datum.loss_fn_inputs["target_tokens"].to_torch().tolist()
                weights = datum.loss_fn_inputs["weights"].to_torch().tolist()
                yield [*datum.model_input.to_ints()[:1], *targets], [False, *(weight > 0 for weight in weights)]


note_rows(rows(builders(Path(sys.argv[1]), **words())))
