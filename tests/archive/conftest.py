"""Every test has an index of its own; without the extra ``archive``, there is nothing to test."""

import pytest

from tests.remote.conftest import moto, s3

__all__ = ["moto", "s3"]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """The folder of the index."""
    # Skipping at the top of this file would end a run that begins in this folder.
    pytest.importorskip("pyfastcdc")
    pytest.importorskip("zstandard")
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder
