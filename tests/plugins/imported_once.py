"""What all test modules have imported stays: the collector of cycles need not look at it again and again.

With PyTorch, Brian2 and Nengo loaded a full collection takes half a second, and Hypothesis makes enough objects to
begin several in every room.
"""

import gc

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Put aside what is there before the first test."""
    gc.collect()
    gc.freeze()
