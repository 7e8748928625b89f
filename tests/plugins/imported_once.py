"""What all test modules have imported stays: the collector of cycles need not look at it again and again.

With PyTorch, Brian2 and Nengo loaded a full collection takes half a second, and Hypothesis makes enough objects to
begin several in every room. What tests make themselves is looked at less often than Python would.
"""

import gc

import pytest

NEW_OBJECTS = 50_000
"""Made between two looks of the collector; Python's 700 cost 2 to 4 per cent of the time of properties."""


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Put aside what is there before the first test."""
    gc.collect()
    gc.freeze()


def pytest_configure():
    """From the start: imports and the collection of tests make objects that stay."""
    gc.set_threshold(NEW_OBJECTS, 10, 10)
