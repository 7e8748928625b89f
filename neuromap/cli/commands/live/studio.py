"""``neuromap studio``: networks, patterns and a running chip in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuromap.cli.arguments.options import ChipOption, ExecutionOption, chosen_chip, said_option
from neuromap.cli.arguments.typed_patterns import read_pattern
from neuromap.cli.printing.text_output import print_error, print_line, text_console
from neuromap.errors import InputError, NotSupportedError

if TYPE_CHECKING:
    from neuromap.datasets.image_set import ImageSet
    from neuromap.network.network import Network

__all__ = ["EXAMPLES", "studio"]

EXAMPLES = """\
\b
Examples:
  neuromap studio
  neuromap studio examples/digits/sr.toml --pattern streaming --pattern sequential
  neuromap studio examples/mnist/small.toml --data mnist:../mnist --port 9000
  neuromap studio --host 0.0.0.0 --token "$(python -c 'import secrets; print(secrets.token_urlsafe())')"
"""

_MOST_IMAGES = 1000


def studio(
    networks: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[NET]...", help="Network files (TOML); the first is shown.", show_default=False),
    ] = None,
    patterns: Annotated[
        list[str] | None,
        said_option(
            "--pattern",
            metavar="PATTERN",
            text="Rollout pattern: streaming, sequential, a name from the file, or its streaming edges; given twice, "
            "two patterns run side by side.  [default: streaming]",
        ),
    ] = None,
    execution: ExecutionOption = "windowed",
    chip: ChipOption = None,
    data: Annotated[
        str | None,
        said_option(
            "--data",
            metavar="SOURCE",
            text="Labelled images, mnist:PATH, cifar10:PATH, gtsrb:PATH or digits.  [default: digits, if scikit-learn "
            "is installed]",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Where to listen; beyond loopback it needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="Port to listen on.")] = 8765,
    token: Annotated[
        str | None,
        said_option(
            "--token",
            metavar="TOKEN",
            text="What whoever opens the page must know: 16 letters, digits, - or _, or more.  [env: "
            "NEUROMAP_STUDIO_TOKEN]",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        said_option(
            "--sessions",
            metavar="FOLDER",
            text="Where sessions are kept.  [default: neuromap/studio in $XDG_STATE_HOME or ~/.local/state]",
        ),
    ] = None,
) -> None:
    """Open a studio in the browser: edit patterns, run the chip live, change it while it runs, record and replay.

    It prints the address to open and serves until it is interrupted. Only this machine can reach it, unless --host says
    otherwise, which asks for a token. Needs the extra studio.
    """
    import os

    import neuromap as nm
    from neuromap.studio.scene.scene import Scene, SceneRun
    from neuromap.studio.serve.address import Address
    from neuromap.studio.serve.kept import KeptSessions, default_folder
    from neuromap.studio.serve.run_server import run_server
    from neuromap.studio.stage.offer import Offer, example_network

    address = Address(host, port, token if token is not None else os.environ.get("NEUROMAP_STUDIO_TOKEN", ""))
    found = {_name(path, networks or []): nm.load_network(path) for path in networks or []}
    example = example_network()
    found.setdefault(example.name, example)
    network: Network = next(iter(found.values()))
    words = patterns or ["streaming"]
    if len(words) > 2:
        raise InputError(f"--pattern {words[2]}: is the third; at most two run side by side")
    runs = tuple(SceneRun(read_pattern(network, word), execution) for word in words)
    first = Scene(network, nm.load_chip(chosen_chip(chip)), runs)
    kept = KeptSessions(folder or default_folder())
    run_server(address, kept, Offer(found, _images(data)), first, lambda text: print_line(text_console(), text))


def _name(path: Path, every: list[Path]) -> str:
    """Name a network by its file, with its folder where two files are called alike."""
    return path.stem if sum(other.stem == path.stem for other in every) == 1 else str(path)


def _images(source: str | None) -> ImageSet | None:
    from neuromap.datasets.sources import load_images

    try:
        return load_images(source or "digits", "test", limit=_MOST_IMAGES)
    except NotSupportedError as error:
        if source is not None:
            raise
        print_error(f"no images are offered: {error}")
        return None
