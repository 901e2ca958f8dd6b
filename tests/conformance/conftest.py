"""What is set up once for all of these tests."""

import sys
from importlib.util import find_spec
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def oumi_type():
    """Oumi's ``Conversation``, and in place of a library that it imports the one function, which nothing here calls."""
    name = "transformers.utils.chat_template_utils"
    with pytest.MonkeyPatch.context() as patch:  # gone again once it is imported, since others look for that library
        if find_spec("transformers") is None:
            for module in ("transformers", "transformers.utils", name):
                patch.setitem(sys.modules, module, ModuleType(module))
            sys.modules[name].get_json_schema = lambda function: function
        from oumi.core.types.conversation import Conversation

    return Conversation
