"""Checksums of the package's own files put right in a mutant: what lies behind them is reached only so."""

import io
import json
from hashlib import blake2b

import mutate

_ALGORITHM, _DIGITS = "blake2b-128:", 32


def seal_safetensors(data):
    """Sealed files (a digest over all bytes), and files with a checksum over a text and tensors."""
    try:
        header, body = mutate.parts_of_safetensors(data)
        about = header.get("__metadata__", {})
        if "digest" in about:
            about["digest"] = _ALGORITHM + "0" * _DIGITS
            blank = mutate.packed_safetensors(header, body)
            about["digest"] = _ALGORITHM + blake2b(blank, digest_size=_DIGITS // 2).hexdigest()
        elif "checksum" in about:
            from safetensors.numpy import load

            from neuromap.simulation.trace.trace_file import checksum

            about["checksum"] = checksum(about["about"] if "about" in about else about["trace"], load(data))
        return mutate.packed_safetensors(header, body)
    except Exception:  # too damaged for a checksum
        return data


def seal_lines(data):
    """Lines of JSON, each with a checksum of the rest."""
    from neuromap.jobs.results_file import with_checksum

    lines = []
    for line in data.split(b"\n"):
        try:
            entry = json.loads(line)
            sealed = json.dumps(with_checksum(entry)).encode() if "checksum" in entry else line
        except Exception:
            sealed = line
        lines.append(sealed)
    return b"\n".join(lines)


def seal_record(data):
    """The record of an exploration's row, whose fingerprint is ``k``."""
    from neuromap.jobs.results_file import with_checksum

    try:
        entry = json.loads(data)
        return json.dumps({**entry, "checksum": with_checksum({"key": "k", **entry})["checksum"]}).encode()
    except Exception:
        return data


def seal_hdf5_trace(data):
    """Traces: a checksum of what they hold; the digest behind the file may be missing, and is taken away."""
    import h5py

    from neuromap.simulation.trace.trace_file import NEURONS, PLACES, REPORT, SPIKES, checksum

    cut = data.rfind(b"\nneuromap blake2b")
    data = data if cut < 0 else data[:cut]
    try:
        stream = io.BytesIO(data)
        with h5py.File(stream, "r+") as file:
            names = {
                "tick": f"{SPIKES}/ticks",
                "row": f"{SPIKES}/node_ids",
                "counts": "counts",
                "potentials": f"{REPORT}/data",
            }
            names |= {name: f"{NEURONS}/{name}" for name in PLACES}
            names |= {f"potential_{name}": f"{REPORT}/mapping/{name}" for name in PLACES}
            found = {name: file[path] for name, path in names.items() if path in file}
            if sum(item.nbytes for item in found.values()) < 2**24:
                content = {n: d[:].astype("i4") if n == "potentials" else d[:] for n, d in found.items()}
                file.attrs["checksum"] = checksum(file.attrs["trace"], content)
        return stream.getvalue()
    except Exception:
        return data
