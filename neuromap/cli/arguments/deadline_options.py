"""Options of ``neuromap explore`` for accuracy at a deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuromap.cli.arguments.command import Given
from neuromap.cli.arguments.typed_patterns import read_pattern
from neuromap.errors import InputError
from neuromap.options import option

if TYPE_CHECKING:
    from neuromap.network.network import Network
    from neuromap.rollout.pattern import RolloutPattern


class DeadlineOptions(Given[None]):
    """Options of accuracy at a deadline."""

    deadline: str | None = option(
        "TIME  With --trained: time from stimulus onset, such as 3ms; the accuracy of the last frame that is known by "
        "then becomes an objective."
    )
    trained: list[str] | None = option(
        "PATTERN=FILE  With --deadline: a network of this graph that was trained under this pattern (a name, its "
        "streaming edges, or R of every edge as digits); its weights are those of the pattern's behaviour class. May "
        "be repeated; only classes with such weights are searched."
    )
    data: str = option(
        "SOURCE  With --deadline: labelled images, mnist:PATH, cifar10:PATH, gtsrb:PATH or digits.", "digits"
    )
    part: str = option("PART  With --deadline: which images, test, validation or train.", "test")
    limit: int | None = option("N  With --deadline: only the first N images.")

    @property
    def files(self) -> dict[str, str]:
        """Files that are read, by what they are."""
        return {f"trained network {file}": file for _, file in map(_split, self.trained or [])}

    def arguments(self, network: Network) -> dict[str, Any]:
        """Make the arguments of ``explore``: read the images, take patterns and files apart."""
        from neuromap.datasets.sources import load_images
        from neuromap.explorer.answer.quantities import parse_quantity

        if not self._are_asked_for():
            return {}
        seconds = parse_quantity(self.deadline or "", "s", "--deadline")
        pairs = [(_pattern(network, text), file) for text, file in map(_split, self.trained or [])]
        images = load_images(self.data, self.part, limit=self.limit)
        return {"trained": pairs, "images": images, "deadline": seconds}

    def _are_asked_for(self) -> bool:
        """Whether there is a deadline; what goes with it is refused without."""
        if self.deadline is None:
            self.refuse("goes with a deadline; give --deadline TIME, or drop it")
            return False
        if not self.trained:
            raise InputError(
                f"--deadline {self.deadline}: takes trained weights; give --trained PATTERN=FILE, one for a behaviour "
                "class"
            )
        return True


def _split(text: str) -> tuple[str, str]:
    pattern, sign, file = (part.strip() for part in text.partition("="))
    if not (pattern and sign and file):
        raise InputError(f"--trained {text}: is no PATTERN=FILE; write it like streaming=trained.toml")
    return pattern, file


def _pattern(network: Network, text: str) -> RolloutPattern | str:
    """Read streaming edges, as they are typed; names and digits are the library's."""
    return read_pattern(network, text) if "->" in text else text
