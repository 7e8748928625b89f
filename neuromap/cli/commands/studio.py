"""``neuromap studio``: networks, patterns and a running chip in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import CHIP, EXECUTION, SOURCES, chosen_chip, read_pattern
from neuromap.cli.printing.text_output import print_error, print_line, text_console
from neuromap.errors import InputError, NotSupportedError, prefixed
from neuromap.files.messages import show_name
from neuromap.options import argument, option

EXAMPLES = """\
\b
Examples:
  neuromap studio
  neuromap studio examples/digits/sr.toml --pattern streaming --pattern sequential
  neuromap studio examples/mnist/small.toml --data mnist:../mnist --port 9000
  (umask 077; python -c 'import secrets; print(secrets.token_urlsafe())' > token)
  neuromap studio --host 0.0.0.0 --token-file token
"""

_MOST_IMAGES = 1000
_VARIABLE = "NEUROMAP_STUDIO_TOKEN"
_LONGEST_TOKEN_FILE = 2**20


@command
def studio(
    networks: list[Path] | None = argument("NET  Network files (TOML); the first is shown.", None),
    patterns: list[str] | None = option(
        "--pattern PATTERN  Rollout pattern: streaming, sequential, a name from the file, or its streaming edges; "
        "given twice, two patterns run side by side.  [default: streaming]"
    ),
    execution: str = EXECUTION,
    chip: str | None = CHIP,
    data: str | None = option(f"SOURCE  Labelled images: {SOURCES}.  [default: digits, if scikit-learn is installed]"),
    host: str = option("HOST  Where to listen; beyond loopback it needs a token.", "127.0.0.1", group="serving"),
    port: int = option("PORT  Port to listen on.", 8765, group="serving"),
    token_file: Path | None = option(
        "FILE  File with the token that whoever opens the page must know: 16 letters, digits, - or _, or more.  "
        "[default: the token in the environment variable NEUROMAP_STUDIO_TOKEN]",
        group="serving",
    ),
    paused: bool = option("Begin at tick 0 and wait; a new session else plays an image.", False),
    token: str | None = option("TOKEN  Refused: others can read it.", hidden=True),
    folder: Path | None = option(
        "--sessions FOLDER  Where sessions are kept.  [default: neuromap/studio in $XDG_STATE_HOME or ~/.local/state]"
    ),
) -> None:
    """Open a studio in the browser: edit patterns, run the chip live, change it while it runs, record and replay.

    It prints the address to open and serves until it is interrupted. Only this machine can reach it, unless --host says
    otherwise, which asks for a token. Needs the extra studio.
    """
    from neuromap.studio.guard import Address
    from neuromap.studio.run_server import run_server
    from neuromap.studio.scene.commands import Offer, example_network, with_input
    from neuromap.studio.scene.player import require_mappable
    from neuromap.studio.scene.scene import Scene, SceneRun
    from neuromap.studio.sessions import KeptSessions, default_folder

    if token is not None:
        raise InputError(
            f"--token: other users of this machine can read it in the list of processes; write the token to a file and "
            f"give --token-file FILE, or set {_VARIABLE}"
        )
    address = Address(host, port, _token(token_file))
    found = {_name(path, networks or []): nm.load_network(path) for path in networks or []}
    example = example_network()
    found.setdefault(example.name, example)
    network = next(iter(found.values()))
    words = patterns or ["streaming"]
    if len(words) > 2:
        raise InputError(f"--pattern {words[2]}: is the third; at most two run side by side")
    runs = tuple(SceneRun(read_pattern(network, word), execution) for word in words)
    first = Scene(network, nm.load_chip(chosen_chip(chip)), runs)
    require_mappable(first)
    kept, offer = KeptSessions(folder or default_folder()), Offer(found, _images(data), not paused)
    first = first if paused else with_input(first, offer.images)
    run_server(address, kept, offer, first, lambda text: print_line(text_console(), text))


def _token(file: Path | None) -> str:
    """Read the token from its file, or else from the environment; other users can see neither."""
    from neuromap.files.foreign import read_bytes

    if file is None:
        return os.environ.get(_VARIABLE, "").strip()
    with prefixed(f"--token-file {show_name(str(file))}: ", InputError):
        found = read_bytes(file, "token file", _LONGEST_TOKEN_FILE, InputError).decode("ascii", "replace").strip()
    if not found:
        raise InputError(f"--token-file {show_name(str(file))}: is empty; write the token into it, in one line")
    return found


def _name(path: Path, every: list[Path]) -> str:
    """Return a network's name by its file, with its folder if two files have the same name."""
    return path.stem if sum(other.stem == path.stem for other in every) == 1 else str(path)


def _images(source: str | None) -> nm.datasets.ImageSet | None:
    try:
        return nm.datasets.load_images(source or "digits", "test", limit=_MOST_IMAGES).stills()
    except NotSupportedError as error:
        if source is not None:
            raise
        print_error(f"no images are offered: {error}")
        return None
