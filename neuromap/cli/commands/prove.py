"""``neuromap prove``: decide whether a program computes its rollout for every input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.mapping_flags import ProgramFlags, SeededMappingFlags
from neuromap.cli.arguments.options import AS_JSON, NETWORK, check_destinations, chip_file_of, chosen_chip
from neuromap.cli.printing.text_output import print_json, print_line, print_written, progress_bar, text_console
from neuromap.errors import InputError, VerificationError
from neuromap.files.messages import counted
from neuromap.options import option

if TYPE_CHECKING:
    from neuromap.proof.counterexample import Search

EXAMPLES = """\
\b
Examples:
  neuromap prove examples/digits/sr.toml
  neuromap prove examples/digits/sr.toml --pattern hybrid --execution pipelined
  neuromap prove examples/digits/sr.toml --program sr.nmp --frames differs.safetensors
  neuromap prove examples/digits/sr.toml --program sr.nmp --certificate sr.proof
  neuromap prove examples/digits/sr.toml --program sr.nmp --check sr.proof
"""


class ProvenFlags(ProgramFlags):
    """The program that is proven."""

    program_file: Path | None = option("--program FILE  Prove this program instead of mapping.")


@command
def prove(
    network: Path = NETWORK,
    *,
    asked: ProvenFlags,
    frames: str | None = option(
        "FILE  Write the input frames of a counterexample to this file (safetensors); verify --stimulus FILE shows it."
    ),
    certificate: str | None = option("FILE  Write a certificate of what was proven; a small checker confirms it."),
    check: Path | None = option("FILE  Confirm this certificate of the program instead of making claims."),
    flags: SeededMappingFlags,
    as_json: bool = AS_JSON,
) -> None:
    """Prove that a program computes its rollout for every input and all time, or say where it may not.

    Fails with exit code 5 where it is not proven: with a line for each fault, and with input frames for which chip and
    network differ, if a search finds some.
    """
    from neuromap.cli.printing.documents import PROVE, TITLE, labels_of
    from neuromap.proof.codes import REASONS
    from neuromap.proof.counterexample import Search, find_counterexample
    from neuromap.proof.explanations import explain
    from neuromap.proof.prove import confirm, save_certificate

    if check is not None and frames is not None:
        raise InputError("--check and --frames: give one of them; a certificate is of what was proven, without frames")
    asked.check(flags)
    chip, program_file = chip_file_of(chosen_chip(asked.chip)), asked.program_file
    read = {"network file": network, "program file": program_file, "chip file": chip, **flags.files}
    check_destinations({"--frames": frames, "--certificate": certificate}, {**read, "certificate": check})
    net = nm.load_network(network)
    with progress_bar("mapping") as progress:
        rollout, program = asked.read(net, flags, progress)
    with progress_bar("proving"):
        proof = nm.prove(rollout, program) if check is None else confirm(rollout, program, check)
    searched, explanations, written = Search(None, 0, 0, ""), [], None
    if not proof.proven:
        explanations = explain(program, proof)
        with progress_bar("looking for a counterexample"):
            searched = find_counterexample(rollout, program, proof)
    if frames is not None and searched.counterexample is not None:
        nm.simulation.save_frames(frames, searched.counterexample.frames)
        written = frames

    if certificate is not None and proof.proven:
        save_certificate(proof.certificate, program, certificate)

    labels = labels_of(net, rollout, program)
    differs = searched.counterexample
    shown = f"no counterexample: {searched.why}" if differs is None else f"they differ in {differs.message}"
    message = "proven for every input" if proof.proven else f"{counted(len(proof.faults), 'fault')}; {shown}"
    if as_json:
        found = {
            "proven": proof.proven,
            "lemmas": proof.lemmas,
            "n_faults": len(proof.faults),
            "explanations": explanations,
            "counterexample": _counterexample(searched, written),
            "certificate": certificate if proof.proven else None,
            "n_sequences": searched.n_sequences,
            "why": searched.why,
            "message": message,
        }
        print_json(PROVE.of(labels | found))
    else:
        console = text_console()
        print_line(console, f"{TITLE.format_map(labels)}: {'proven for every input' if proof.proven else 'not proven'}")
        told = [f"{counted(count, 'neuron')}: {lemma}" for lemma, count in proof.lemmas.items() if lemma != REASONS[0]]
        for line in explanations or told:
            print_line(console, line)
        if frames is not None and written is None:
            print_line(console, f"no counterexample, so {frames} is not written")
        print_written(console, written, certificate if proof.proven else None)
    if not proof.proven:
        raise VerificationError(f"not proven: {message}")


def _counterexample(searched: Search, written: str | None) -> dict[str, Any] | None:
    found = searched.counterexample
    if found is None:
        return None
    spikes = {
        name: [[*at] for at in zip(*(axis.tolist() for axis in rows.nonzero()), strict=True)]
        for name, rows in found.frames.items()
    }
    fields = ("node", "frame", "index", "core", "neuron", "tick", "chip", "network", "n_frames")
    return {name: getattr(found, name) for name in fields} | {"spikes": spikes, "frames": written}
