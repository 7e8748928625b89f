"""Progress bars on stderr, only where stderr is a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuromap.jobs.silent import silent

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None]]:
    """Show a bar while the block runs."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        notes = _Notes(bar.console)
        logger = logging.getLogger("neuromap")
        logger.addHandler(notes)
        logger.setLevel(logging.INFO)

        def report(*news: object) -> None:
            words = [n for n in news if isinstance(n, str)]
            numbers = [n for n in news if isinstance(n, (int, float))]
            bar.update(
                task,
                description=f"{description}: {words[0]}" if words else description,
                completed=float(numbers[0]) if numbers else None,
                total=float(numbers[1]) if len(numbers) > 1 else None,
            )

        try:
            yield report
        finally:
            logger.removeHandler(notes)


class _Notes(logging.Handler):
    """Shows what the library says above the bar."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message."""
        self._console.print(f"neuromap: {record.getMessage()}", markup=False, highlight=False)
