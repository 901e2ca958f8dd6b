"""What libraries are imported with."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def oumi_type():
    """Oumi's ``Conversation``, and in place of a library that it imports the one function, which nothing here calls."""
    name = "transformers.utils.chat_template_utils"
    with pytest.MonkeyPatch.context() as patch:  # other libraries look for that one, too
        if find_spec("transformers") is None:
            for module in ("transformers", "transformers.utils", name):
                patch.setitem(sys.modules, module, ModuleType(module))
            patch.setattr(sys.modules[name], "get_json_schema", lambda function: function, raising=False)
        from oumi.core.types.conversation import Conversation

    return Conversation
