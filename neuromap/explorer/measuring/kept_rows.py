"""``KeptRows``: what was measured, in the store in which sweeps keep their runs, or in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neuromap.errors import DoesNotFitError, InputError, VerificationError
from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.evaluate import options_of
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.results import measured_of, record_of
from neuromap.explorer.measuring.setting import Setting
from neuromap.sweep.spec.sweep_run import RunOutcome, SweepRun, network_digest, told_options
from neuromap.sweep.store.run_store import RunStore

__all__ = ["KeptRows"]


class KeptRows:
    """Rows by fingerprint; a context manager."""

    # A row of the store is named as reports show it, and has beside its figures a record with a checksum, from which it
    # is taken up again. One that was cut short is kept in memory only.
    # store: file of the rows; ``None`` for memory only

    def __init__(self, store: str | Path | None, setting: Setting, name_of: Callable[[tuple[int, ...]], str]) -> None:
        self._path, self._setting, self._name_of = store, setting, name_of
        self._store: RunStore | None = None
        self._known: dict[str, Measured | None] = {}
        self._digests: dict[int, str] = {}

    def __enter__(self) -> KeptRows:
        self._store = None if self._path is None else RunStore(self._path)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._store is not None:
            self._store.__exit__(kind, error, trace)

    def get(self, fingerprint: str) -> Measured | None:
        """Look up a row; ``None`` where there is none."""
        if fingerprint not in self._known:
            record = None if self._store is None else self._store.record(fingerprint)
            try:
                self._known[fingerprint] = None if record is None else measured_of(fingerprint, record)
            except InputError as error:
                raise InputError(f"store {self._path}: row {fingerprint[:12]}, {error}; name another file") from None
        return self._known[fingerprint]

    def add(self, fingerprint: str, candidate: Candidate, measured: Measured) -> None:
        """Keep a row: it is on the disk when the call returns."""
        self._known[fingerprint] = measured
        if self._store is not None and not measured.cut_short:
            outcome = _outcome(measured, self._setting.chips[candidate.chip].tick_seconds)
            self._store.keep(self._run(fingerprint, candidate), outcome, record_of(fingerprint, measured))

    def _run(self, fingerprint: str, candidate: Candidate) -> SweepRun:
        network, told = self._setting.network_of(candidate.values), self._setting.stimulus
        if id(network) not in self._digests:
            self._digests[id(network)] = network_digest(network)
        return SweepRun(
            key=fingerprint,
            network=network.name,
            network_digest=self._digests[id(network)],
            pattern=self._name_of(candidate.values),
            execution=candidate.execution,
            chip=candidate.chip,
            chip_figures="{}",
            seed=told.get("seed"),
            n_frames=told["n_frames"],
            density=told.get("density"),
            mapping=told_options(options_of(candidate)),
            n_stimuli=told["n_stimuli"],
            asked_by="explore",
        )


def _outcome(measured: Measured, tick_seconds: float) -> RunOutcome:
    """Say what became of a row as a sweep would: times are those of the schedule that was mapped."""
    if measured.status == "does not fit":
        return RunOutcome("does not fit", "map", DoesNotFitError.exit_code, measured.message)
    period = measured.frame_period_ticks
    found = {
        "frame_period_ticks": None if period is None else float(period),
        "sampling_frequency_hz": None if period is None else 1.0 / (period * tick_seconds),
        "predicted_first_response_ticks": measured.first_response_ticks,
        "predicted_full_response_ticks": measured.full_response_ticks,
        "worst_case_reaction_ticks": measured.worst_case_reaction_ticks,
        "cores": measured.cores,
        "joules_per_frame": measured.energy_joules,
        "verified": measured.verified,
    }
    figures = {key: value for key, value in found.items() if value is not None}
    if measured.verified is False:
        return RunOutcome("mapped", "simulate", VerificationError.exit_code, "chip and reference differ", figures)
    return RunOutcome("mapped", figures=figures)
