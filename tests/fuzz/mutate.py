"""Mutants of files: the same for the same seeds and number, on every machine.

Half of them damage bytes, as a failing disk does. The others know what a file is made of: they unpack it, change a part
in its own form, and pack it again with all lengths and checksums right, as somebody does who means harm; only so what
lies behind a checksum is reached.
"""

import json
import math
import re
import struct
import tomllib
from functools import lru_cache
from random import Random

MOST_BYTES = 2**22
"""Of a mutant, but for bombs, which are made on purpose."""

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    127,
    128,
    255,
    256,
    -128,
    32767,
    32768,
    65535,
    65536,
    2**24,
    2**30,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32 - 1,
    2**32,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64 - 1,
    2**64,
    10**18,
    10**30,
    10**400,
)
REALS = (0.0, -0.0, 0.5, -1.5, 1e-320, 1e16, 1e300, math.inf, -math.inf, math.nan)
TEXTS = (
    "",
    " ",
    "a",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "true",
    "null",
    "all",
    "../../etc/passwd",
    "/etc/passwd",
    "~root/x",
    "a\nb",
    "\x1b[31m",
    "\x00",
    "é",
    "\u202e",
    "I -> H",
    "I->H, H->O",
    "->",
    "%s%n",
    "{0.__class__}",
    "x" * 300,
    "9" * 5000,
    "²",
    "1/0",
    "0/0",
    "1_0",
    "0x10",
    "１２",
    "\ud800",
    "a" * 70000,
)
TOKENS = (
    b"-",
    b"+",
    b".",
    b",",
    b";",
    b":",
    b"=",
    b"<=",
    b"[",
    b"]",
    b"{",
    b"}",
    b"[[",
    b'"',
    b"'",
    b'"""',
    b"#",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\r",
    b"\n",
    b"\t",
    b" ",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"null",
    b"true",
    b"nan",
    b"-inf",
    b"1e999",
    b"0x7f",
    b"1979-05-27T07:32:00Z",
    b"__metadata__",
    b"->",
    b"*",
    b"..",
    b"/",
)


def mutant(seeds, name, seed, number, *, form=None, seal=None):
    """Make a mutant.

    ``form`` names what the bytes cannot tell; ``seal`` puts the checksums of this reader right. Number 0 and those
    behind it up to the number of seeds are the seeds themselves.
    """
    if number < len(seeds):
        return seeds[number]
    rng = Random(f"{name}/{seed}/{number}")
    data = rng.choice(seeds)
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            data = damage(data, seeds, rng)
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            data = reshape(data, rng, form)
    if seal is not None and rng.random() < 0.7:
        data = seal(data)
    return data


# ---------------------------------------------------------------------------------------------------------------- bytes


def damage(data, seeds, rng):
    """Change bytes, whatever they mean."""
    change = rng.choice(_TEXT_CHANGES if is_text(data) and rng.random() < 0.6 else _BYTE_CHANGES)
    return change(data, seeds, rng)[:MOST_BYTES]


_OF_TEXT = bytes(range(9, 127))


def is_text(data):
    head = data[:512]
    return b"\x00" not in head and len(head.translate(None, _OF_TEXT)) <= len(head) // 20


def _span(data, rng, longest=64):
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, longest))


def _flip(data, _, rng):
    out = bytearray(data or b"\x00")
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set(data, _, rng):
    out = bytearray(data or b"\x00")
    for _ in range(rng.choice((1, 1, 3))):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(out)


def _truncate(data, _, rng):
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.7 else data[: max(0, len(data) - rng.randrange(20))]


def _delete(data, _, rng):
    start, end = _span(data, rng, rng.choice((8, 64, 4096)))
    return data[:start] + data[end:]


def _duplicate(data, _, rng):
    start, end = _span(data, rng, rng.choice((8, 64, 4096)))
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _repeat(data, _, rng):
    """A short piece very many times: what nests or recurses does so here."""
    start, end = _span(data, rng, 6)
    return data[:start] + data[start:end] * rng.choice((500, 5_000, 100_000)) + data[end:]


def _insert(data, _, rng):
    start = rng.randrange(len(data) + 1)
    block = rng.choice(
        (rng.randbytes(rng.choice((1, 4, 30))), bytes(rng.choice((1, 8, 5000))), b"\xff" * rng.choice((1, 8, 300)))
    )
    return data[:start] + block + data[start:]


def _splice(data, seeds, rng):
    other = rng.choice(seeds)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _swap(data, _, rng):
    (a, b), (c, d) = sorted((_span(data, rng), _span(data, rng)))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:] if b <= c else data[:a] + data[c:]


def _number(data, _, rng):
    """A telling number where one may stand: at an aligned place, in either order of bytes."""
    width = rng.choice((1, 2, 4, 8))
    out = bytearray(data.ljust(width, b"\x00"))
    # heads are where lengths and offsets stand
    place = rng.randrange(max(1, min(len(out), rng.choice((64, len(out)))) // width)) * width
    value = (rng.choice(NUMBERS) % 2 ** (8 * width)).to_bytes(width, rng.choice(("little", "big")))
    out[place : place + width] = value
    return bytes(out[: max(len(data), width)])


_BYTE_CHANGES = (_flip, _set, _truncate, _delete, _duplicate, _repeat, _insert, _splice, _swap, _number, _number)


# ----------------------------------------------------------------------------------------------------------------- text


_WORD = re.compile(rb"[0-9A-Za-z_.+\x80-\xff-]+")


@lru_cache(16)
def _words(data):
    """Places of numbers and words, of at most so many bytes."""
    places = [found.span() for found in _WORD.finditer(data, 0, 100_000)]
    return places or [(0, 0)]


def _word(data, _, rng):
    """Put something telling in the place of a word or number."""
    places = _words(data)
    numeric = [(a, b) for a, b in places if data[a : a + 1].isdigit()]
    a, b = rng.choice(numeric if numeric and rng.random() < 0.6 else places)
    value = rng.choice((rng.choice(NUMBERS), rng.choice(REALS), rng.choice(TEXTS)))
    return data[:a] + str(value).encode(errors="surrogatepass") + data[b:]


def _swap_words(data, _, rng):
    (a, b), (c, d) = sorted((rng.choice(_words(data)), rng.choice(_words(data))))
    return data if (a, b) == (c, d) else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _lines(data, _, rng):
    lines = data.split(b"\n")
    k, m = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.4:
        del lines[k]
    elif rng.random() < 0.5:
        lines.insert(m, lines[k])
    else:
        lines[k], lines[m] = lines[m], lines[k]
    return b"\n".join(lines)


def _token(data, _, rng):
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 30)) + data[start:]


def _nest(data, _, rng):
    start, depth = rng.randrange(len(data) + 1), rng.choice((30, 400, 20_000))
    opening, closing = rng.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"a.", b""), (b"{a=", b"}"), (b"-", b""))
    )
    return data[:start] + opening * depth + b"1" + closing * rng.choice((depth, 0)) + data[start:]


def _long(data, _, rng):
    start = rng.randrange(len(data) + 1)
    return (
        data[:start]
        + rng.choice((b"a", b"9", b" ", b"\n", b"/", b"\xc3\xa9")) * rng.choice((300, 5_000, 200_000))
        + data[start:]
    )


_TEXT_CHANGES = (_word, _word, _word, _swap_words, _lines, _token, _token, _nest, _long)


# ---------------------------------------------------------------------------------------------------------------- forms


def reshape(data, rng, form=None):
    """Change a part of what the file is made of, in the form that it has."""
    import archives
    import binary_forms

    form = form or form_of(data)
    known = {
        "json": json_tree,
        "json lines": json_lines,
        "toml": toml_tree,
        "safetensors": safetensors,
        **archives.FORMS,
        **binary_forms.FORMS,
    }
    change = known.get(form)
    return damage(data, [data], rng) if change is None else change(data, rng)


@lru_cache(16)
def form_of(data):
    """Tell the form from the bytes."""
    for start, form in _STARTS:
        if data.startswith(start):
            return form
    if data[257:262] == b"ustar":
        return "tar"
    if data[8:9] == b"{" and 0 < int.from_bytes(data[:8], "little") < 2**20:
        return "safetensors"
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "pickle"
    if len(data) > 100_000 or not is_text(data):
        return None
    for form, parse in (("json", json.loads), ("toml", lambda d: tomllib.loads(d.decode()))):
        try:
            if isinstance(parse(data), dict | list):
                return form
        except (ValueError, RecursionError):
            pass
    return None


_STARTS = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bz2"),
    (b"PK\x03\x04", "zip"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"SQLite format 3\x00", "sqlite"),
    (b'{"format"', "json lines"),
)


# ---------------------------------------------------------------------------------------------------------------- trees


def any_value(rng, like=None):
    """A value of JSON or TOML, most often of the kind that stands there."""
    if isinstance(like, bool) or like is None or rng.random() < 0.25:
        like = rng.choice((1, 1.0, "a", [1], {"a": 1}, True))
    if isinstance(like, int):
        return rng.choice(
            (like + 1, -like, rng.choice(NUMBERS), rng.choice(NUMBERS), float(min(like, 2**60)), str(like)[:400])
        )
    if isinstance(like, float):
        return rng.choice((*REALS, -like, like * 1e6, int(like) if math.isfinite(like) else 0))
    if isinstance(like, str):
        return rng.choice(
            (rng.choice(TEXTS), like + rng.choice(TEXTS), like[: len(like) // 2], like.upper(), like[::-1])
        )
    if isinstance(like, list):
        return rng.choice(
            (
                [],
                like * 2,
                [like],
                like[:1],
                like[1:],
                [*like, None],
                [*like, any_value(rng, 1)],
                list(reversed(like)),
                like[:1] * rng.choice((3, 1000)),
                nested(rng, "list"),
            )
        )
    return rng.choice(({}, {"": 1}, [like], {"a": like}, nested(rng, "dict"), None, dict(list(like.items())[1:])))


def nested(rng, kind):
    value = 1
    for _ in range(rng.choice((3, 60, 700))):
        value = [value] if kind == "list" else {"a": value}
    return value


def places(tree, most=5000):
    """All places of a tree: who holds, and under which key or number."""
    found, todo = [], [tree]
    while todo and len(found) < most:
        holder = todo.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list) and holder[key]:
                todo.append(holder[key])
    return found


def change_tree(tree, rng):
    """Drop, rename, retype, duplicate or exchange something in a tree of dicts and lists."""
    found = places(tree)
    if not found:
        return any_value(rng, tree)
    holder, key = rng.choice(found)
    other, other_key = rng.choice(found)
    what = rng.randrange(8)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        holder[rng.choice((str(key) + "x", str(key)[:-1], rng.choice(TEXTS[:28]), str(other_key)))] = holder.pop(key)
    elif what == 2 and isinstance(holder, dict):
        holder[rng.choice((str(key) + "2", rng.choice(TEXTS[:28])))] = holder[key]
    elif what == 3:
        holder[key] = (
            other[other_key]
            if not isinstance(other[other_key], dict | list)
            else json.loads(json.dumps(other[other_key], default=str))
        )
    elif what == 4 and isinstance(holder[key], str) and holder[key][:1] in ("{", "["):
        holder[key] = json_text(holder[key], rng)
    else:
        holder[key] = any_value(rng, holder[key])
    return tree


def json_text(text, rng):
    """A text that holds JSON itself, as metadata do."""
    try:
        return json.dumps(change_tree(json.loads(text), rng))
    except (ValueError, RecursionError):
        return text[:-1]


def json_tree(data, rng):
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if isinstance(tree, dict | list):
            tree = change_tree(tree, rng)
    return _dumped(tree)


def json_lines(data, rng):
    lines = data.split(b"\n")
    k = rng.randrange(len(lines))
    try:
        lines[k] = _dumped(change_tree(json.loads(lines[k]), rng))
    except ValueError:
        lines[k] = rng.choice(lines)
    return b"\n".join(lines)


def _dumped(tree):
    text = json.dumps(tree, separators=(",", ":"))
    return text.encode()


def toml_tree(data, rng):
    tree = tomllib.loads(data.decode())
    for _ in range(rng.choice((1, 1, 2, 4))):
        if isinstance(tree, dict):
            tree = change_tree(tree, rng)
    return toml_text(tree).encode(errors="surrogatepass") if isinstance(tree, dict) else b"x = 1"


def toml_text(tree):
    """Write TOML: plain values first, tables below their headers two levels deep, what is deeper in one line."""
    plain = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {_toml_value(value)}" for key, value in plain.items()]
    for key, table in tree.items():
        if isinstance(table, dict):
            lines.append(f"[{_key(key)}]")
            lines += [f"{_key(k)} = {_toml_value(v)}" for k, v in table.items() if not isinstance(v, dict)]
            for k, inner in table.items():
                if isinstance(inner, dict):
                    lines.append(f"[{_key(key)}.{_key(k)}]")
                    lines += [f"{_key(a)} = {_toml_value(b)}" for a, b in inner.items()]
    return "\n".join(lines) + "\n"


def _key(key):
    return json.dumps(str(key), ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_value(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, int):
        return str(value)
    return '""' if value is None else _key(value)


# ---------------------------------------------------------------------------------------------------------- safetensors


def parts_of_safetensors(data):
    """Give header and bytes of tensors."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def packed_safetensors(header, body):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def safetensors(data, rng):
    header, body = parts_of_safetensors(data)
    what = rng.randrange(6)
    tensors = [name for name in header if name != "__metadata__"]
    about = header.get("__metadata__", {})
    told = [key for key in about if about[key][:1] in ("{", "[")]
    if what == 0 and tensors and body:  # values
        entry = header[rng.choice(tensors)]
        start, end = entry["data_offsets"]
        width = rng.choice((1, 2, 4, 8))
        body = bytearray(body)
        if end - start >= width:
            place = start + rng.randrange((end - start) // width) * width
            value = rng.choice((rng.choice(NUMBERS) % 2 ** (8 * width), rng.randrange(2 ** (8 * width))))
            body[place : place + width] = value.to_bytes(width, "little")
            if rng.random() < 0.3:
                body[place : place + 8] = struct.pack("<d", rng.choice(REALS))[: max(0, min(8, end - place))]
        body = bytes(body)
    elif what == 1 and told:  # a text of JSON in the metadata
        key = rng.choice(told)
        about[key] = json_text(about[key], rng)
    elif what == 2 and tensors:  # another shape or type of the same bytes
        entry = header[rng.choice(tensors)]
        shape = entry["shape"]
        entry["shape"] = rng.choice(
            ([1, *shape], [*shape, 1], shape[::-1], [math.prod(shape)], [math.prod(shape), 1], shape)
        )
        same = {
            "BOOL": "U8",
            "I8": "U8",
            "U8": "I8",
            "I16": "U16",
            "I32": "F32",
            "F32": "I32",
            "I64": "F64",
            "F64": "I64",
            "U32": "F32",
        }
        if rng.random() < 0.6:
            entry["dtype"] = same.get(entry["dtype"], entry["dtype"])
    elif what == 3 and tensors:  # a tensor of other rows
        body = _resized(header, body, rng.choice(tensors), rng)
    elif what == 4 and len(tensors) > 1:  # names exchanged
        a, b = rng.sample(tensors, 2)
        header[a], header[b] = header[b], header[a]
    else:
        header = change_tree(header, rng)
    return packed_safetensors(header, body)


def _resized(header, body, chosen, rng):
    """Give a tensor more or fewer rows, all others their bytes."""
    pieces, end = [], 0
    for name in sorted((n for n in header if n != "__metadata__"), key=lambda n: header[n]["data_offsets"][0]):
        entry = header[name]
        start, stop = entry["data_offsets"]
        piece = body[start:stop]
        if name == chosen and entry["shape"] and entry["shape"][0]:
            row = len(piece) // entry["shape"][0]
            rows = rng.choice((0, entry["shape"][0] - 1, entry["shape"][0] + 1, 2 * entry["shape"][0]))
            piece = (piece * 3)[: rows * row]
            entry["shape"] = [rows, *entry["shape"][1:]]
        pieces.append(piece)
        entry["data_offsets"] = [end, end + len(piece)]
        end += len(piece)
    return b"".join(pieces)
