"""Mutants of compressed files and archives: unpacked, a member changed in its own form, packed again; and bombs."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from functools import cache

import mutate

_ODD_NAMES = (
    "",
    ".",
    "..",
    "/",
    "../x",
    "/etc/passwd",
    "./",
    "a//b",
    "é",
    "x" * 300,
    "a\nb",
    "\x1b[2J",
    "con",
    "a/../b",
)
BOMB = 1_300 * 2**20
"""Bytes that a bomb unpacks to: more than a reader may take."""
BOMBS = 0.0003
"""Share of the changes that make one: reading it takes as long as reading thousands of others."""


@cache
def _zeros(kind):
    """Compressed zeros that stand one behind the other as often as one likes, of a mebibyte each."""
    block = bytes(2**20)
    if kind == "deflate":
        packer = zlib.compressobj(9, wbits=-15)
        return packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return {"xz": lzma.compress, "bz2": bz2.compress}[kind](block)


def _deflated_bomb(head):
    """``head`` and zeros, as deflate."""
    packer = zlib.compressobj(9, wbits=-15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + _zeros("deflate") * (BOMB // 2**20) + b"\x03\x00"


def _gzip(data, rng):
    if rng.random() < BOMBS:
        inner = gzip.decompress(data)
        return b"\x1f\x8b\x08\x00" + bytes(6) + _deflated_bomb(inner[: rng.choice((0, 16, len(inner)))]) + bytes(8)
    inner = mutate.reshape(gzip.decompress(data), rng)
    return gzip.compress(inner, 1, mtime=0) + rng.choice((b"", b"", b"", b"\x00" * 9, b"\x1f\x8b", data))


def _streams(pack, unpack, kind):
    def change(data, rng):
        inner = unpack(data)
        if rng.random() < BOMBS:
            return pack(inner[: rng.choice((0, 16, len(inner)))]) + _zeros(kind) * (BOMB // 2**20)
        return pack(mutate.reshape(inner, rng))

    return change


def _members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.open(info).read(2**24)) for info in archive.infolist()]  # of a bomb the start


def _changed(members, rng):
    """Change a member or its name."""
    k = rng.randrange(len(members)) if members else 0
    if not members:
        return [("a", b"")]
    name, data = members[k]
    what = rng.randrange(8)
    if what == 0:
        del members[k]
    elif what == 1:
        members.insert(rng.randrange(len(members) + 1), (name, mutate.damage(data, [data], rng)))
    elif what == 2:
        odd = rng.choice(
            (
                *_ODD_NAMES,
                f"./{name}",
                f"/{name}",
                f"../{name}",
                f"{name}/",
                name.upper(),
                name.replace("/", "\\"),
                f"x/{name}",
            )
        )
        members[k] = (odd, data)
    elif what == 3:
        prefix = rng.choice(("./", "/", "x/", "../", "a/./", "//"))
        return [(prefix + n, d) for n, d in members]
    elif what == 4:
        m = rng.randrange(len(members))
        members[k], members[m] = (name, members[m][1]), (members[m][0], data)
    elif what == 5:
        members[k] = (name, mutate.damage(data, [d for _, d in members], rng))
    else:
        members[k] = (name, mutate.reshape(data, rng))
    return members


_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def _zip(data, rng):
    if rng.random() < BOMBS:
        return _zip_bomb(data, rng)
    method = rng.choice((*_METHODS, zipfile.ZIP_DEFLATED))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in _changed(_members(data), rng):
            archive.writestr(zipfile.ZipInfo(name or "x"), content, method, 1)
    packed = made.getvalue()
    return _odd_fields(packed, rng) if rng.random() < 0.5 else packed


def _torch(data, rng):
    """A program of PyTorch: mostly its graph, which is one of many members."""
    members = _members(data)
    at = next((k for k, (name, _) in enumerate(members) if name.endswith("models/model.json")), None)
    if at is None or rng.random() < 0.3:
        return _zip(data, rng)
    members[at] = (members[at][0], mutate.reshape(members[at][1], rng))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), content)
    return made.getvalue()


def _odd_fields(packed, rng):
    """Change a field of a header: version, flags (encrypted), method, checksum, sizes, lengths, offset, comment."""
    out = bytearray(packed)
    sign, fields = rng.choice(
        (
            (
                b"PK\x01\x02",
                (
                    (4, 2),
                    (6, 2),
                    (8, 2),
                    (8, 2),
                    (10, 2),
                    (10, 2),
                    (12, 4),
                    (16, 4),
                    (20, 4),
                    (24, 4),
                    (24, 4),
                    (28, 2),
                    (30, 2),
                    (32, 2),
                    (38, 4),
                    (42, 4),
                ),
            ),
            (b"PK\x03\x04", ((4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2))),
            (b"PK\x05\x06", ((4, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2))),
        )
    )
    at = out.find(sign, rng.randrange(max(1, len(out) // 2)))
    at = out.find(sign) if at < 0 else at
    offset, width = rng.choice(fields)
    value = rng.choice((rng.choice(mutate.NUMBERS), rng.randrange(256), 1, 99, 12, 14, 0x0800, 0x0041))
    out[at + offset : at + offset + width] = (value % 2 ** (8 * width)).to_bytes(width, "little")
    return bytes(out)


def _zip_bomb(data, rng):
    """One member unpacks to very much; what the archive says of its size may be a lie."""
    members = _members(data)
    name = rng.choice(members)[0].encode()
    body = _deflated_bomb(rng.choice(members)[1][:64])
    size = rng.choice((BOMB, 1000, 0, 2**30))
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(body), size, len(name), 0) + name
    central = (
        struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, len(body), size, len(name), 0, 0, 0, 0, 0, 0)
        + name
    )
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local) + len(body), 0)
    return local + body + central + end


_KINDS = (
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
    tarfile.DIRTYPE,
    tarfile.GNUTYPE_SPARSE,
    b"\xff",
)


def _tar(data, rng):
    with tarfile.open(fileobj=io.BytesIO(data)) as tape:
        members = [(m.name, tape.extractfile(m).read()) for m in tape if m.isfile()]
    members = _changed(members, rng)
    odd = rng.randrange(2 * len(members) + 1)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))) as tape:
        for k, (name, content) in enumerate(members):
            info = tarfile.TarInfo(name or "x")
            info.size = len(content)
            if k == odd:
                _make_odd(info, members, rng)
            tape.addfile(info, io.BytesIO(content) if info.isfile() else None)
    packed = made.getvalue()
    return packed[: rng.randrange(len(packed))] if rng.random() < 0.1 else packed


def _make_odd(info, members, rng):
    what = rng.randrange(3)
    if what == 0:
        info.type = rng.choice(_KINDS)
        info.linkname = rng.choice((rng.choice(members)[0], info.name, "/etc/passwd", "../x"))
    elif what == 1:
        info.pax_headers = {
            rng.choice(
                (
                    "size",
                    "path",
                    "GNU.sparse.realsize",
                    "GNU.sparse.map",
                    "mtime",
                    "hdrcharset",
                    "GNU.sparse.major",
                    "linkpath",
                )
            ): rng.choice(("0", "-1", str(2**62), "nan", "x", "1,2,3", "9" * 400, "../../x", "BINARY"))
        }
    else:
        info.mtime, info.uid, info.mode = rng.choice(((2**33, 0, 0o644), (0, 2**21, 0), (0.5, 0, 0o7777)))


FORMS = {
    "gzip": _gzip,
    "xz": _streams(lambda d: lzma.compress(d, preset=0), lzma.decompress, "xz"),
    "bz2": _streams(bz2.compress, bz2.decompress, "bz2"),
    "zip": _zip,
    "torch": _torch,
    "tar": _tar,
}
