"""Accuracy of the graded networks here as rates on TrueNorth and Loihi, over ticks since the onset of an image.

python over_ticks.py mnist:DIRECTORY    # writes over_ticks.csv beside this file, and docs/img/rate-conversion.svg

The digits need scikit-learn. All test images of the digits, the first 1,000 of MNIST.
"""

import csv
import io
import sys
from pathlib import Path

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference, accuracy_on_chip
from neuromap.datasets import load_images
from neuromap.exchange.formats import import_file
from neuromap.files.whole_file import write_whole
from neuromap.render.plot import Panel, Plot, Point, draw_panels
from neuromap.render.svg import standalone

HERE = Path(__file__).parent
TICKS = (8, 12, 16, 24, 32, 48, 64, 96, 128)
COLUMNS = ("network", "chip", "cores", "tick", "right", "images")


def rows_of(file, data, limit):
    """Run the graded network, then its conversions; a graded network answers once, in its first frame."""
    images = load_images(data, "test", limit=limit)
    graded = nm.load_network(HERE / file)
    (right,) = accuracy_of_reference(nm.Rollout(graded, "sequential"), images)
    rows = [(graded.name, "", "", "", round(right * len(images.images)), len(images.images))]
    for chip in ("truenorth", "loihi1"):
        network = import_file(HERE / file, "rates", chip=chip, data=data).network
        mapping = nm.Rollout(network, "streaming")
        program = nm.map_rollout(mapping, chip)
        first = mapping.first_response(network.outputs[0])
        at = [tick - first + 1 for tick in TICKS]
        found = accuracy_on_chip(mapping, program, images, at[-1], summed=True, at=at)
        rows += [(graded.name, chip, found.cores, one.tick, one.correct, found.n_images) for one in found.frames]
        print(*rows[-len(TICKS) :], sep="\n", flush=True)
    return rows


def picture(rows):
    """Draw a panel for each network, a line for each chip and one for the graded network."""
    panels = []
    for network in dict.fromkeys(row[0] for row in rows):
        lines = {}
        mine = [row for row in rows if row[0] == network]
        for _, chip, cores, tick, right, images in mine:
            for at in [tick] if chip else TICKS:
                point = Point(str(at), right / images, f"{100 * right / images:.2f} %, {cores or 'no'} cores")
                lines.setdefault(chip or "graded", []).append(point)
        panels.append(Panel(f"{network}: accuracy, {mine[0][-1]:,} test images", lines, 1.0, bottom=0.5))
    plot = Plot("ticks since the onset of the image", panels, "chip")
    return standalone(draw_panels(plot, "Accuracy of rates over ticks"))


def main():
    """Write the rows and the picture."""
    (mnist,) = sys.argv[1:]
    rows = rows_of("digits.toml", "digits", None) + rows_of("mnist_rate.toml", mnist, 1_000)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *rows])
    write_whole(HERE / "over_ticks.csv", text.getvalue())
    write_whole(HERE.parents[1] / "docs" / "img" / "rate-conversion.svg", picture(rows))


if __name__ == "__main__":
    main()
