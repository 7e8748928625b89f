"""Digits under noise: what is committed of 10,000 images on the chip and in PyTorch."""

import csv
from pathlib import Path

import pytest

import neuromap as nm

NOISY = Path(__file__).parents[2] / "examples" / "mnist" / "noisy"
FRAMES = 8


@pytest.fixture(scope="module")
def by_pattern():
    with (NOISY / "over_ticks.csv").open() as lines:
        rows = [{k: v if k == "pattern" else int(v) for k, v in row.items()} for row in csv.DictReader(lines)]
    return {name: [row for row in rows if row["pattern"] == name] for name in ("streaming", "hybrid", "sequential")}


def test_chip_and_pytorch_gave_the_same_spikes(by_pattern):
    for rows in by_pattern.values():
        assert len(rows) == FRAMES
        assert {(row["images"], row["differing_spikes"]) for row in rows} == {(10_000, 0)}
        assert all(row["right_on_chip"] == row["right_in_pytorch"] for row in rows)


def test_ticks_are_those_of_the_rollouts(by_pattern):
    for pattern, file in (("streaming", "streaming"), ("hybrid", "sequential"), ("sequential", "sequential")):
        rollout = nm.Rollout(nm.load_network(NOISY / f"{file}.toml"), pattern)
        due = [rollout.first_response("O") + k * rollout.frame_period for k in range(FRAMES)]
        assert [row["tick"] for row in by_pattern[pattern]] == due


def test_streaming_is_right_most_often_at_every_tick(by_pattern):
    def at(pattern, tick):
        return max((row["right_on_chip"] for row in by_pattern[pattern] if row["tick"] <= tick), default=0)

    for tick in range(2, 10):
        assert at("streaming", tick) > at("hybrid", tick) >= at("sequential", tick)
