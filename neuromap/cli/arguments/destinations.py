"""Files to be written, as they are named at the command line: refused before long work begins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuromap.errors import InputError, NetworkError
from neuromap.files.whole_file import check_target


def check_destinations(outputs: Mapping[str, str | None], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse files that cannot be written, or must not be, before long work begins."""
    # outputs: option and the file to be; ``None`` where none was asked for
    wanted = {option: path for option, path in outputs.items() if path is not None}
    taken: dict[Path, str] = {}
    for option, path in wanted.items():
        if path.startswith("-"):  # stdout, or another option, is meant
            raise InputError(f"{option} {path}: is not a file; give a name (./{path} for this one), or /dev/stdout")
        try:
            target = check_target(path)
        except InputError as error:
            raise InputError(f"{option} {error}") from None
        read = _all_read(inputs) if Path(path).exists() else {}
        for name, source in read.items():
            if source is not None and _is_same(path, source):
                raise InputError(f"{option} {path}: is the {name} itself; give another file")
        if target is None:
            continue  # a device or pipe, which is not replaced
        if target in taken:
            raise InputError(f"{option} {path}: is named twice, by {taken[target]} too; give each a file of its own")
        taken[target] = option


def weights_beside(output: str | None) -> str | None:
    """Name the file that ``Network.save`` writes beside the network file; it refuses other suffixes itself."""
    if output is None or not output.lower().endswith(".toml"):
        return None
    return str(Path(output).with_suffix(".safetensors"))


def _all_read(inputs: Mapping[str, str | Path | None]) -> dict[str, str | Path | None]:
    """Add the weights of every network to the files that are read."""
    found = dict(inputs)
    for name, path in inputs.items():
        if name == "network file":
            found["weights file"] = _weights_file(path)
        elif name.startswith("trained network"):
            found[f"weights file of the {name}"] = _weights_file(path)
    return found


def _is_same(path: str, source: str | Path) -> bool:
    try:
        return Path(path).samefile(source)
    except (OSError, ValueError):  # no such file; whoever reads it says so
        return False


def _weights_file(network: str | Path | None) -> Path | None:
    from neuromap.files.toml_file import read_toml
    from neuromap.network.network_file import MAX_FILE_BYTES

    if network is None:
        return None
    try:
        named = read_toml(Path(network), "network file", MAX_FILE_BYTES, NetworkError)["weights"]["file"]
        return Path(network).parent.joinpath(named)
    except (NetworkError, KeyError, TypeError):  # whoever loads it says so
        return None
