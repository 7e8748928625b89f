"""Readers of words of the command line, which Python's functions take too."""

from one_reader import network, reader, text_of

import neuromap as nm

# -------------------------------------------------------------------------------------------------- words of commands


def lines_of(*texts):
    return lambda _: [text.encode() for text in texts]


def read_pattern(path, net):
    from neuromap.cli.arguments.options import read_pattern, split_patterns

    text = text_of(path)
    every(
        lambda: [repr(read_pattern(net, part)) for part in split_patterns([text])],
        lambda: nm.RolloutPattern.named(net, text),
    )


def read_execution(path, net):
    from neuromap.explorer.candidates.options import ExploreOptions
    from neuromap.options import options_of

    for word in options_of(ExploreOptions)["executions"].read([text_of(path)]):
        nm.Rollout(net, "streaming", execution=word)


def read_limits(path, _):
    from neuromap.explorer.answer.limits import Limits

    str(Limits.parse(text_of(path)))


def read_figures(path, chip):
    from neuromap.cli.arguments.options import read_figures
    from neuromap.hardware.chip.chip_file import with_figures

    with_figures(chip, {name: values[0] for name, values in read_figures([text_of(path)]).items()})


def every(*takes):
    """Read in several ways; refused is what none of them takes."""
    from neuromap.errors import NeuromapError

    refusals = []
    for take in takes:
        try:
            take()
        except NeuromapError as error:
            refusals.append(error)
            check_message(error)
    if len(refusals) == len(takes):
        raise refusals[-1]


def check_message(error):
    text = str(error)
    if len(text.splitlines()) != 1 or len(text) > 2_000:
        raise error
    text.encode()


def read_lists(path, _):
    from neuromap.explorer.candidates.options import ExploreOptions
    from neuromap.faults.options import StudyOptions
    from neuromap.options import options_of
    from neuromap.simulation import Recording

    text = text_of(path)
    said = options_of(ExploreOptions) | options_of(StudyOptions)
    names = ("ticks_per_step", "rates", "wide", "objectives", "kinds", "splitters")
    every(*(lambda one=said[name]: one.read([text]) for name in names), lambda: Recording(text))


def read_strategies(path, _):
    from neuromap.mapping.options.options import MappingOptions

    text = text_of(path)
    every(
        *(
            lambda name=name: MappingOptions(**{name: text})
            for name in ("placer", "splitters", "ticks_per_step", "wide")
        )
    )


reader(
    "pattern",
    "text",
    lines_of("streaming", "sequential", "H -> H", "H -> H, H -> O", "streaming,sequential"),
    read_pattern,
    context=lambda _: network(),
)
reader(
    "execution",
    "text",
    lines_of("windowed", "pipelined", "windowed,pipelined"),
    read_execution,
    context=lambda _: network(),
)
reader(
    "limits",
    "text",
    lines_of(
        "cores <= 200, full response <= 5 ms, sampling frequency >= 300 Hz",
        "energy <= 3 µJ",
        "accuracy at deadline >= 90 %",
    ),
    read_limits,
)
reader(
    "chip-figures",
    "text",
    lines_of("core.axons=512", "grid.cores=[4, 4]", "time.delay=[1, 7]", "neuron.signed_threshold=true"),
    read_figures,
    context=lambda _: nm.load_chip("truenorth"),
)
reader("typed-lists", "text", lines_of("1,2,3", "0.1, 0.5", "auto,2", "streaming", "node:H", "core:0-3"), read_lists)
reader("strategies", "text", lines_of("row-major", "slack", "never"), read_strategies)
