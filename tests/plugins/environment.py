"""What every test finds around it, whoever starts the suite: some cores, no terminal, no settings, signals, bytecode.

It imports nothing but the standard library: libraries for linear algebra count the cores when they are first imported.
Processes that tests start inherit all of it.
"""

import os
import signal
import sys

WORKER, WORKERS = "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"
OF_THE_TERMINAL = ("TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
OF_THE_PROGRAM = ("NEUROMAP_DEBUG",)


def take_share_of_the_cores() -> None:
    """Keep a worker of pytest-xdist to its cores: with a thread for every core each, workers wait for each other."""
    if WORKER not in os.environ or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    worker, n_workers = int(os.environ[WORKER].removeprefix("gw")), int(os.environ[WORKERS])
    share = cores[worker % n_workers :: n_workers] or [cores[worker % len(cores)]]
    os.sched_setaffinity(0, share)
    os.environ["OMP_NUM_THREADS"] = str(len(share))  # PyTorch counts the machine's cores, not those that it may use


def forget_terminal_and_settings() -> None:
    """Tests that want a width or colours set them; xdist and make would each pass on another one."""
    for name in (*OF_THE_TERMINAL, *OF_THE_PROGRAM):
        os.environ.pop(name, None)


def keep_bytecode() -> None:
    """Python keeps what it compiles: else each of some hundred processes takes twice as long to import the package."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def hear_signals() -> None:
    """Let interrupts reach the processes that tests start: a job in the background and ``nohup`` begin deaf to them.

    A signal with a handler is what its default is in a process that is started; an ignored one stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        ending = getattr(signal, name, None)
        if ending is not None and signal.getsignal(ending) is signal.SIG_IGN:
            signal.signal(ending, lambda *_: None)  # deaf here, as was asked for


take_share_of_the_cores()
forget_terminal_and_settings()
keep_bytecode()
hear_signals()
