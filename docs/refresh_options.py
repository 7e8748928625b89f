"""Write the table of the mapper's options in docs/cli.md, as the options themselves say it.

    python docs/refresh_options.py

A test compares the page with what this makes.
"""

from pathlib import Path

from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.files.whole_file import write_whole

PAGE = Path(__file__).with_name("cli.md")
_HEAD = "<!-- The rows are written by `python docs/refresh_options.py`. -->\n\n| option | meaning |\n|---|---|\n"
_LINKS = {
    "pins": "[mapping](mapping.md)",
    "defects": "[chip files](chip-file.md)",
    "seconds": "[mapping](mapping.md#budgets-of-time)",
    "phases": "[time](time.md#phases-at-least-cost)",
    "wide": "[wide neurons](wide-neurons.md)",
    "objective": "[mapping](mapping.md#mappings-for-time-and-energy)",
}


def page():
    """Make the text of the page."""
    rows = []
    for name, said in MappingFlags.said.items():
        flags = ", ".join(f"`{flag}`" for flag in said.flags[0].split("/"))
        flags = flags[:-1] + f" {said.metavar}`" if said.metavar else flags
        told = " ".join([*said.told.split(), *([_LINKS[name]] if name in _LINKS else [])])
        rows.append(f"| {flags} | {told} |\n")
    before, after = PAGE.read_text(encoding="utf-8").split(_HEAD)
    return before + _HEAD + "".join(rows) + after[after.index("\n\n") + 1 :]


if __name__ == "__main__":
    write_whole(PAGE, page())
