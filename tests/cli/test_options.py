"""Options are said once: what a flag takes the library takes, and keywords of functions are those of their class."""

import inspect
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.errors import InputError
from neuromap.explorer.candidates.options import ExploreOptions
from neuromap.explorer.explore import explore
from neuromap.faults.options import StudyOptions
from neuromap.mapping.options.options import MappingOptions
from neuromap.options import Option, check_options, keywords_of, option, options_of
from neuromap.report.latency import report_on_program
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.run_options import RunOptions
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions

CHECKED = (MappingOptions, TrainingOptions, HardwareOptions, EngineChoice, StudyOptions)
BOUNDED = [
    (options, name)
    for options in CHECKED
    for name, said in options_of(options).items()
    if said.kind in ("int", "float") and (said.above is not None or said.within[1] is not None)
]


@pytest.mark.parametrize(("options", "name"), BOUNDED, ids=[f"{o.__name__}.{n}" for o, n in BOUNDED])
@settings(max_examples=30)
@given(data=st.data())
def test_a_flag_takes_what_the_library_takes(options, name, data):
    said = options_of(options)[name]
    low, high = said.within if said.above is None else (said.above, 1e9)
    near = st.sampled_from([low - 1, low, low + 1, high - 1, high, high + 1])
    value = data.draw(near | st.integers(-(2**70), 2**70))
    value = float(value) if said.kind == "float" else int(value)
    others = {"wide": "partial-sums"} if name == "wide_ticks" else {}

    def taken(make):
        try:
            return make()
        except InputError:
            return None

    typed = taken(lambda: said.read(str(value)))
    if typed is not None:
        assert typed == value
    if name != "learning_rate" or value <= 1e30:  # whose rates beyond are told apart
        assert (typed is None) == (taken(lambda: options(**{name: value}, **others)) is None)


@given(st.integers(-50, 50), st.integers(-20, 20), st.integers(0, 20), st.text(min_size=1, max_size=8))
def test_a_refusal_names_flag_value_and_bounds(value, low, span, word):
    said = Option("", flags=("-n", "--number"), within=(low, low + span), kind="int")
    if low <= value <= low + span:
        assert said.read(str(value)) == value
    else:
        with pytest.raises(InputError, match=rf"^--number {value}: must be {low} to {low + span}$"):
            said.read(str(value))
    try:
        int(word)
    except ValueError:
        with pytest.raises(InputError, match=rf"^--number .*: must be a whole number from {low} to {low + span}$"):
            said.read(word)


@given(st.lists(st.integers(1, 9), min_size=1), st.data())
def test_a_list_is_the_same_in_one_word_and_in_several(numbers, data):
    said = Option("", flags=("--numbers",), items="int", within=(1, 9))
    cut = data.draw(st.integers(0, len(numbers)))
    words = [",".join(map(str, part)) for part in (numbers[:cut], numbers[cut:]) if part]
    assert said.read(words) == list(dict.fromkeys(numbers))
    with pytest.raises(InputError, match="--numbers: is empty"):
        said.read([","])
    for word in ("1,,2", "1,", ",1"):
        with pytest.raises(InputError, match=f"--numbers {word}: has nothing between two commas; drop one"):
            said.read([word])


@pytest.mark.parametrize("kind", ["int", "float"])
@pytest.mark.parametrize("word", ["\u0665", "1_0", "\uff11", "1_0e-2"])
def test_numbers_are_of_plain_digits(kind, word):
    with pytest.raises(InputError, match=r"--number .*: must be a"):
        Option("", flags=("--number",), kind=kind, within=(0, 99)).read(word)


@dataclass(frozen=True)
class Twofold:
    """Options of a test."""

    times: int = option("--times, --repeat N  Times.", 2, within=(1, 9))
    loud: bool = option("--loud/--quiet  Whether it is loud.", False)

    def __post_init__(self):
        check_options(self)


class Flags(Given[Twofold]):
    """As typed; more options, and other words."""

    first = ("file",)
    file: str | None = option("FILE  A file.")
    times: int = option("N  Times, in a test.", 2, within=(1, 5))


def test_a_group_holds_what_was_typed():
    nothing, some = Flags(), Flags(times=3, file="x", loud=False)
    assert list(Flags.said) == ["file", "times", "loud"]
    assert not nothing
    assert (nothing.times, nothing.file, nothing.made()) == (2, None, Twofold())
    assert some.made() == Twofold(3)
    assert some.made(loud=True) == Twofold(3, True)
    assert some.words == ["--times 3", "--file x", "--quiet"]
    with pytest.raises(InputError, match=r"^--times 3: goes with nothing$"):
        some.refuse("goes with nothing")
    with pytest.raises(AttributeError):
        _ = nothing.missing
    assert Flags.said["times"].told == "Times, in a test.  [default: 2]"


@keywords_of(Twofold)
def shout(text: str, asked: Twofold) -> str:
    """Say it."""
    return text * asked.times + "!" * asked.loud


def test_keywords_of_a_function_are_those_of_its_options():
    assert shout("a") == "aa"
    assert shout("a", 1, loud=True) == shout(text="a", times=1, loud=True) == "a!"
    assert list(inspect.signature(shout).parameters) == ["text", "times", "loud"]
    with pytest.raises(TypeError, match=r"^shout\(\) got an unexpected keyword argument 'soft'$"):
        shout("a", soft=True)
    with pytest.raises(TypeError, match=r"^shout\(\) missing 1 required positional argument: 'text'$"):
        shout()
    with pytest.raises(InputError, match="times = 0: must be 1 to 9"):
        shout("a", times=0)


@pytest.mark.parametrize(
    ("function", "options", "values"),
    [
        (explore, ExploreOptions, ["network"]),
        (nm.faults.study_faults, StudyOptions, ["rollouts"]),
        (report_on_program, RunOptions, ["rollout", "program"]),
    ],
)
def test_signatures_show_every_keyword_with_its_default(function, options, values):
    shown = inspect.signature(function).parameters
    defaults = {name: parameter.default for name, parameter in inspect.signature(options).parameters.items()}
    assert list(shown) == [*values, *defaults]
    assert {name: shown[name].default for name in defaults} == defaults
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'nonsense'$"):
        function(*[None] * len(values), nonsense=1)


@pytest.mark.parametrize("options", [MappingOptions, TrainingOptions, HardwareOptions])
def test_docstrings_have_a_line_for_every_option(options):
    for name, said in options_of(options).items():
        assert f"\n{name} : {options.__annotations__[name]}\n    {said.help}" in options.__doc__
    assert options.__doc__.index("Attributes\n") < options.__doc__.index("Raises\n")
