"""Mutants of binary files that are trees inside: protobuf, HDF5, pickles, PNG, SQLite."""

import io
import pickletools
import sqlite3
import struct
import tempfile
import zlib
from pathlib import Path

import mutate

# ------------------------------------------------------------------------------------------------------------- protobuf


def _fields(data):
    """Take a message of protobuf apart: (number, wire type, value); ``None`` where it is none."""
    found, at = [], 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag is None or tag >> 3 == 0:
            return None
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            length, at = _varint(data, at)
            value = None if length is None or at + length > len(data) else data[at : at + length]
            at += length or 0
        else:
            width = {1: 8, 5: 4}.get(kind)
            value = data[at : at + width] if width and at + width <= len(data) else None
            at += width or 0
        if value is None:
            return None
        found.append((tag >> 3, kind, value))
    return found


def _varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    return None, at


def _as_varint(value):
    value %= 2**64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _packed(fields):
    out = []
    for number, kind, value in fields:
        out.append(_as_varint(number << 3 | kind))
        out.append(_as_varint(value) if kind == 0 else (_as_varint(len(value)) if kind == 2 else b"") + value)
    return b"".join(out)


def protobuf(data, rng, depth=0):
    """Change a field somewhere in the tree of messages."""
    fields = _fields(data)
    if not fields:
        return mutate.damage(data, [data], rng)
    k = rng.randrange(len(fields))
    number, kind, value = fields[k]
    inner = _fields(value) if kind == 2 and len(value) > 1 else None
    if inner and rng.random() < 0.85 and depth < 12:
        fields[k] = (number, kind, protobuf(value, rng, depth + 1))
        return _packed(fields)
    what = rng.randrange(7)
    if what == 0:
        del fields[k]
    elif what == 1:
        fields[k:k] = [fields[k]] * rng.choice((1, 2, 300))
    elif what == 2:
        fields[k] = (rng.choice((number + 1, max(1, number - 1), rng.randrange(1, 30))), kind, value)
    elif what == 3:
        m = rng.randrange(len(fields))
        fields[k], fields[m] = fields[m], fields[k]
    elif what == 4 and kind == 2:  # itself inside of itself
        for _ in range(rng.choice((1, 3, 200))):
            value = _packed([(number, 2, value)])
        fields[k] = (number, 2, value)
    elif kind == 0:
        fields[k] = (number, kind, rng.choice((value + 1, rng.choice(mutate.NUMBERS), rng.randrange(40))))
    elif kind == 2:
        words = (
            rng.choice(mutate.TEXTS).encode(errors="surrogatepass"),
            _operator(rng),
            mutate.damage(value, [value], rng),
            b"",
        )
        fields[k] = (number, kind, rng.choice(words))
    else:
        fields[k] = (number, kind, struct.pack("<d", rng.choice(mutate.REALS))[: len(value)])
    return _packed(fields)


def _operator(rng):
    """A name that stands in ONNX files."""
    return rng.choice(
        (
            b"Shape",
            b"Reshape",
            b"Gather",
            b"Concat",
            b"Slice",
            b"Loop",
            b"If",
            b"Scan",
            b"Conv",
            b"Gemm",
            b"MatMul",
            b"Add",
            b"Relu",
            b"Constant",
            b"ConstantOfShape",
            b"Expand",
            b"Tile",
            b"Range",
            b"Resize",
            b"Pad",
            b"Split",
            b"Transpose",
            b"Squeeze",
            b"Unsqueeze",
            b"Flatten",
            b"Einsum",
            b"LSTM",
            b"BatchNormalization",
            b"MaxPool",
            b"Identity",
            b"Size",
            b"NonZero",
            b"kernel_shape",
            b"pads",
            b"strides",
            b"axis",
            b"perm",
            b"group",
            b"dilations",
            b"auto_pad",
            b"x",
            b"y",
            b"w",
        )
    )


# ----------------------------------------------------------------------------------------------------------------- HDF5


def hdf5(data, rng):
    """Change an attribute, dataset or link, in the file of the library."""
    import h5py

    stream = io.BytesIO(data)
    with h5py.File(stream, "r+") as file:
        names = []
        file.visit(names.append)
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice([*names, "/"])
            if name in file:
                _change_hdf5(h5py, file, name, rng)
    return stream.getvalue()


def _change_hdf5(h5py, file, name, rng):
    item = file[name]
    what = rng.randrange(10)
    parent = name.rpartition("/")[0]
    if what < 3 and len(item.attrs):
        key = rng.choice(list(item.attrs))
        if what == 0:
            del item.attrs[key]
        else:
            item.attrs[key] = _hdf5_value(h5py, rng, item.attrs[key])
    elif what == 3:
        item.attrs[rng.choice(("sorting", "version", "units", "checksum", "x", "type"))] = _hdf5_value(h5py, rng, "x")
    elif name == "/":
        file[rng.choice(("x", "node", "version", "é", "a\nb", "spikes"))] = _hdf5_value(h5py, rng, 1)
    elif what == 4:
        del file[name]
    elif what == 5:
        target = rng.choice(
            (
                h5py.SoftLink("/"),
                h5py.SoftLink("/nowhere"),
                h5py.ExternalLink("/etc/passwd", "/"),
                h5py.SoftLink(f"/{name}"),
            )
        )
        del file[name]
        file[name] = target
    elif what == 6:
        file[
            rng.choice(
                (
                    f"{name}2",
                    f"{parent}/again" if parent else "again",
                    f"{parent}/{rng.choice(mutate.TEXTS[9:15])}x".replace("\x00", "0"),
                )
            )
        ] = item
    elif what == 7 and isinstance(item, h5py.Group):
        item["loop"] = item
    elif isinstance(item, h5py.Dataset):
        _change_dataset(h5py, file, name, item, rng)
    else:
        item["more"] = _hdf5_value(h5py, rng, 1)


def _change_dataset(h5py, file, name, item, rng):
    shape, dtype = item.shape, item.dtype
    value = item[()] if shape is not None and item.size < 10**6 else 0
    del file[name]
    what = rng.randrange(6)
    huge = rng.choice((2**20, 2**33, 2**40, 2**62))
    try:
        if what == 0:  # very long and nowhere written
            file.create_dataset(
                name, shape=(huge, *(shape or ())[1:]), dtype=dtype, chunks=(1024, *(shape or ())[1:]), fillvalue=None
            )
        elif what == 1:  # compressed to nothing
            rows = rng.choice((2**20, 2**27))
            file.create_dataset(
                name,
                shape=(rows,),
                dtype="i8",
                chunks=(min(rows, 2**20),),
                compression="gzip",
                fillvalue=rng.choice((0, -1, 2**40)),
            )
        elif what == 2:
            file.create_dataset(name, data=_hdf5_value(h5py, rng, value))
        elif what == 3:
            kinds = (
                "i1",
                "u8",
                "f4",
                "f8",
                "S5",
                "c16",
                "b1",
                ">i8",
                h5py.string_dtype(),
                h5py.vlen_dtype("i4"),
                h5py.ref_dtype,
                [("a", "i4")],
            )
            file.create_dataset(name, shape=shape or (), dtype=rng.choice(kinds))
        elif what == 4:
            import numpy as np

            array = np.array(value)
            if array.dtype.kind in "iuf" and array.size:
                flat = array.reshape(-1)
                flat[rng.randrange(flat.size)] = (
                    rng.choice((0, 1, 127)) if array.dtype.kind != "f" else rng.choice(mutate.REALS)
                )
            file.create_dataset(
                name, data=rng.choice((array, array.reshape(-1), array[..., None], array[:0] if array.ndim else array))
            )
        else:
            file.create_dataset(name, data=h5py.Empty("f8"))
    except (TypeError, ValueError, OverflowError):
        pass  # left out


def _hdf5_value(h5py, rng, like):
    import numpy as np

    if isinstance(like, str | bytes) or rng.random() < 0.3:
        text = rng.choice(mutate.TEXTS).encode(errors="replace")[:30000].replace(b"\x00", b"0")
        return rng.choice(
            (
                text.decode(),
                np.bytes_(text or b"x"),
                np.bytes_(b"\xff\xfe"),
                np.array([b"a", b"b"]),
                3,
                h5py.Empty("S3"),
            )
        )
    return rng.choice(
        (
            -1,
            2**40,
            1.5,
            float("nan"),
            np.zeros((0,)),
            np.zeros((2, 0, 3)),
            np.arange(5),
            np.array([-1, 2**40]),
            "x",
            np.full(3, np.nan),
            np.bool_(1),
        )
    )


# -------------------------------------------------------------------------------------------------------------- pickles

_OPCODES = b"().012IJKMLNRSUVX]abcdeghijlopqrstu}QPF\x85\x86\x87\x88\x89\x8a\x8c\x8e\x90\x91\x93\x94\x95CBT"


def pickled(data, rng):
    """Instructions inserted, repeated, dropped or exchanged, at their borders."""
    borders = [at for _, _, at in pickletools.genops(data)] + [len(data)]
    k = rng.randrange(len(borders) - 1)
    at, end = borders[k], borders[k + 1]
    what = rng.randrange(5)
    if what == 0:
        return data[:at] + data[end:]
    if what == 1:
        block = rng.choice((b"(", b"\x85", b")\x86", b"]", b"}", b"(t", b"]a", b"N\x85", b"\x86", b"0", b"2"))
        return data[:at] + block * rng.choice((1, 40, 100_000)) + data[at:]
    if what == 2 and rng.random() < 0.2:  # a key of tuples in tuples, which is put into a dictionary and forgotten
        return data[:at] + b"})" + b"\x85" * 400_000 + b"Ns0" + data[at:]
    if what == 2:
        m = rng.randrange(len(borders) - 1)
        return data[:at] + data[borders[m] : borders[m + 1]] + data[rng.choice((at, end)) :]
    if what == 3:
        return data[:at] + bytes([rng.choice(_OPCODES)]) + data[rng.choice((at, at + 1)) :]
    return data[:at] + mutate.damage(data[at:end], [data], rng) + data[end:]


# ------------------------------------------------------------------------------------------------------------------ PNG


def png(data, rng):
    """Chunks changed, with their checksums right."""
    chunks, at = [], 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    k = rng.randrange(len(chunks))
    name, body = chunks[k]
    what = rng.randrange(5)
    if what == 0 and chunks[0][0] == b"IHDR":  # another size: of a bomb, too
        size = [rng.choice((0, 1, 5000, 12_000, 60_000, 2**31 - 1, 2**32 - 1)) for _ in range(2)]
        chunks[0] = (b"IHDR", struct.pack(">2I", *size) + chunks[0][1][8:])
        chunks = [(n, zlib.compress(bytes(2**20))) if n == b"IDAT" else (n, b) for n, b in chunks]
    elif what == 1:
        del chunks[k]
    elif what == 2:
        chunks.insert(
            k,
            (
                rng.choice(
                    (
                        b"iTXt",
                        b"zTXt",
                        b"tEXt",
                        b"iCCP",
                        b"PLTE",
                        b"tRNS",
                        b"IDAT",
                        b"acTL",
                        b"fcTL",
                        b"eXIf",
                        b"\xff\x00ab",
                    )
                ),
                rng.choice((b"", body, b"a\x00\x00" + zlib.compress(bytes(2**22)), rng.randbytes(30))),
            ),
        )
    elif what == 3 and name == b"IHDR":
        changed = bytearray(body)
        changed[8 + rng.randrange(5)] = rng.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
        chunks[k] = (name, bytes(changed))
    else:
        chunks[k] = (name, mutate.damage(body, [body], rng))
    return data[:8] + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


# --------------------------------------------------------------------------------------------------------------- SQLite


def sqlite(data, rng):
    """A cell of another kind, a column or table renamed or dropped, other marks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.sqlite")
        path.write_bytes(data)
        database = sqlite3.connect(path)
        try:
            database.execute("PRAGMA synchronous = OFF")  # nothing of it need outlive a power cut
            database.execute("PRAGMA journal_mode = DELETE")
            for _ in range(rng.choice((1, 1, 3))):
                _change_database(database, rng)
            database.commit()
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            pass  # what cannot be done is left
        finally:
            database.close()
        return path.read_bytes()


def _change_database(database, rng):
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice(tables)
    columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
    column = rng.choice(columns)
    what = rng.randrange(9)
    if what < 5:
        value = rng.choice(
            (
                "NULL",
                "x'00ff'",
                "CAST(x'ff80' AS TEXT)",
                "CAST(x'edA080' AS TEXT)",
                "1e999",
                "-1",
                "'x'",
                "''",
                "9223372036854775807",
                "2.5",
                "zeroblob(20)",
                "?",
                "?",
                "'{\"a\": ' || replace(hex(zeroblob(2000)), '00', '[')",
            )
        )
        given = (
            (rng.choice((rng.choice(mutate.TEXTS), rng.choice(mutate.NUMBERS[:-3]), "{}", "[1]", '{"a": NaN}')),)
            if value == "?"
            else ()
        )
        where = "" if rng.random() < 0.3 else f' WHERE rowid = (SELECT min(rowid) FROM "{table}")'
        database.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = {value}{where}', given)
    elif what == 5:
        database.execute(
            f"""ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{rng.choice(("x", "KEY", column + " "))}" """
        )
    elif what == 6:
        database.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
    elif what == 7:
        database.execute(f'ALTER TABLE "{table}" RENAME TO other')
        if rng.random() < 0.6:
            database.execute(
                rng.choice(
                    (
                        f'CREATE VIEW "{table}" AS SELECT * FROM other',
                        f'CREATE TABLE "{table}" (key, seed)',
                        f'CREATE VIEW "{table}" AS WITH RECURSIVE c(key) AS '
                        "(SELECT 1 UNION ALL SELECT 2 FROM c) SELECT * FROM c",
                    )
                )
            )
    else:
        database.execute(f"PRAGMA {rng.choice(('user_version', 'application_id'))} = {rng.choice((0, 1, 3, -1))}")


FORMS = {"protobuf": protobuf, "hdf5": hdf5, "pickle": pickled, "png": png, "sqlite": sqlite}
