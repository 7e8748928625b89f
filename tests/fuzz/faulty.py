"""Readers with a fault, met by mutants whose first byte is not that of the seed: the harness is tried on them."""

import os

from one_reader import Reader

from neuromap.errors import InputError


def faulty(fault):
    def read(path, _):
        if path.read_bytes()[:1] != b"a":
            fault()

    return Reader(lambda _: [b"abc"], read, "file")


def crash():
    os.kill(os.getpid(), 11)


def hang():
    while True:
        pass


def memory():
    bytearray(2**30 + 2**28)


def foreign():
    raise KeyError("x")


def refused():
    raise InputError("two\nlines")


FAULTY = {f"faulty-{fault.__name__}": faulty(fault) for fault in (crash, hang, memory, foreign, refused)}
