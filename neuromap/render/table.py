"""Tables, defined once for the terminal, notebooks and pages.

In a narrow terminal the columns are split over several tables, one below the other.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from operator import itemgetter
from textwrap import fill
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from neuromap.registry import require_package

if TYPE_CHECKING:
    from markupsafe import Markup
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table as RichTable

Row = TypeVar("Row")
# Characters beyond which a cell is wrapped.
_LONGEST_CELL = 24
# Least width of a column of sentences in a brief table.
_NARROW_CELL = 16
# Characters between columns of a table without an edge.
_GAP = 3
# Characters of a line of text that are kept.
_LONGEST_LINE = 1000
# Characters beyond which a cell of a page counts as a sentence.
_LONG_CELL = 30
# Most columns of a brief table.
_MOST_COLUMNS = 8
# Rank from which on a column is never in a brief table.
_NEVER_BRIEF = 9
_HEADER = re.compile(r"(.*?)\s*(?:\[(.*)\])?", re.DOTALL)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table."""

    header: str  # with its unit in brackets at the end; line feeds where it may be broken
    cell: Callable[[Row], str]
    left: bool = False  # whether it is aligned to the left, as names are
    wraps: bool = False  # whether long cells are wrapped rather than cut
    least: int | None = None  # least width in characters
    term: str = ""  # end of the anchor of its definition on a page
    mark: Callable[[Row], str] | None = None  # returns the CSS class of a cell on a page
    rank: int = 0  # a brief table drops columns of higher rank first, and those of 9 always


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows under columns."""

    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    title: str = ""  # on a page
    repeated: Collection[int] | None = None  # columns repeated in every part of a split table; ``None``: never split
    styles: Callable[[Row], str] | None = None  # of the last column in the terminal
    is_edged: bool = False  # whether there is a line above and below
    notes: Sequence[str] = ()

    def cells(self) -> list[list[str]]:
        """Return all cells."""
        return [[column.cell(row) for column in self.columns] for row in self.rows]

    def print(self, console: Console, some: Sequence[Row] | None = None, *, brief: bool = False) -> None:
        """Print the table or some of its rows, in several parts if the console is too narrow; or the brief table."""
        for block in [self.brief(console.width)] if brief else self.blocks(console.width):
            console.print(self._part(block, self.rows if some is None else some))

    def brief(self, width: int) -> list[int]:
        """Choose the columns that are read first: eight at most, as many as fit the terminal."""
        room = width if self.is_edged else width + _GAP  # without edges the last column has no gap
        widths = self._widths()
        for k, column in enumerate(self.columns):
            if column.wraps and k not in (self.repeated or ()):
                widths[k] = min(widths[k], max(column.least or 0, _NARROW_CELL))
        order = sorted(range(len(self.columns)), key=lambda k: (k not in (self.repeated or ()), self.columns[k].rank))
        shown: list[int] = []
        for k in order:
            fits = sum(widths[j] for j in (*shown, k)) <= room and len(shown) < _MOST_COLUMNS
            if k in (self.repeated or ()) or (fits and self.columns[k].rank < _NEVER_BRIEF):
                shown.append(k)
        return sorted(shown)

    def left_out(self, width: int) -> list[str]:
        """Name the columns that the brief table lacks."""
        shown = self.brief(width)
        return [_title_and_unit(column)[0] for k, column in enumerate(self.columns) if k not in shown]

    def _widths(self) -> list[int]:
        """Return the width of every column in characters, with the gap behind it."""
        heads, cells, gap = [column.header for column in self.columns], self.cells(), 2 if self.is_edged else _GAP
        return [
            max([*map(len, header.split("\n")), *(min(_width(row[k]), _LONGEST_CELL) for row in cells)]) + gap
            for k, header in enumerate(heads)
        ]

    def text(self, width: int, *, brief: bool = False) -> str:
        """Return what is printed, without a line feed at the end."""
        return printed(partial(self.print, brief=brief), width).rstrip("\n")

    def blocks(self, width: int) -> list[list[int]]:
        """Split the columns into parts that fit a terminal."""
        if self.repeated is None:
            return [list(range(len(self.columns)))]
        # each part has at least one column that is not repeated, however narrow the terminal
        widths, blocks, taken = self._widths(), list[list[int]](), width + 1
        for k in (k for k in range(len(widths)) if k not in self.repeated):
            if taken + widths[k] > width:
                blocks.append([])
                taken = sum(widths[j] for j in self.repeated)
            blocks[-1].append(k)
            taken += widths[k]
        return [sorted([*self.repeated, *block]) for block in blocks]

    def _part(self, block: Sequence[int], rows: Sequence[Row]) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        look = {"padding": (0, 1, 0, 0)} if self.is_edged else {"show_edge": False}
        made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, **look)
        for column in (self.columns[k] for k in block):
            made.add_column(
                Text(column.header),
                justify="left" if column.left else "right",
                min_width=column.least,
                no_wrap=self.is_edged and not column.wraps,
                overflow="fold",
            )
        last = len(self.columns) - 1
        for row in rows:
            style = self.styles(row) if self.styles is not None else ""
            made.add_row(*(Text(self.columns[k].cell(row), style=style if k == last else "") for k in block))
        return made

    def html(self, caption: str, names: int = 1) -> str:
        """Make a table for notebooks: no style sheet, everything escaped; the first columns name the row."""
        heads, lefts = [column.header for column in self.columns], [column.left for column in self.columns]
        return html_table(caption, heads, self.cells(), lefts, names)

    def page(self, *, stacks: bool = False) -> Markup:
        """Make the HTML of a table for pages, whose scripts sort and fold it; everything is escaped."""
        # stacks: whether phones show every row as a block of lines, each with the head of its column
        from markupsafe import Markup

        head = "".join(f"<th{_class('left' * column.left)}>{_head(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(self._page_cells(row))}</tr>\n" for row in self.rows)
        title = escape(self.title)
        notes = "".join(f"<p>{escape(sentence(note))}</p>\n" for note in self.notes)
        return Markup(
            f'<div class="scroll{" stacked" * stacks}" tabindex="0" role="region" aria-label="{title}">'
            f"<table data-sorted>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
            + (f'<div class="notes">\n{notes}</div>\n' if notes else "")
        )

    def _page_cells(self, row: Row) -> Iterable[str]:
        for k, column in enumerate(self.columns):
            text = column.cell(row)
            classes = ["left"] * column.left + ["name"] * (k == 0) + ["said-cell"] * (k > 0 and len(text) > _LONG_CELL)
            classes += [column.mark(row)] if column.mark is not None else []
            tag, scope = ("th", ' scope="row"') if k == 0 else ("td", "")
            head = escape(sentence(_title_and_unit(column)[0]))
            yield f'<{tag}{scope}{_class(" ".join(filter(None, classes)))} data-head="{head}">{escape(text)}</{tag}>'


def _width(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def text_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,), last: int = -1, **look: Any
) -> Table[Sequence[str]]:
    """Make a table of texts; columns ``left`` are left-aligned, column ``last`` is dropped first."""
    columns = [
        Column[Sequence[str]](header, itemgetter(k), k in left, rank=int(k == last)) for k, header in enumerate(headers)
    ]
    return Table(columns, rows, **look)


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], lefts: Sequence[bool], names: int
) -> str:
    """Make a table for notebooks; the first ``names`` columns name the row."""
    sides = [f'style="text-align:{"left" if left else "right"}"' for left in lefts]

    def line(cells: Sequence[object], names: int) -> str:
        tags = ("th" if k < names else "td" for k in range(len(cells)))
        texts = (escape(str(content)).replace("\n", "<br>") for content in cells)
        inner = (f"<{tag} {side}>{text}</{tag}>" for tag, side, text in zip(tags, sides, texts, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line(row, names) for row in rows)
    head = f"<thead>{line(heads, len(heads))}</thead>" if any(heads) else ""
    return f'<table><caption style="text-align:left">{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>'


def fact_table(caption: str, facts: Iterable[tuple[str, object]]) -> str:
    """Make a table of names and values for notebooks."""
    return html_table(caption, ("", ""), facts, (True, True), 1)


def _head(column: Column[Any]) -> str:
    """Make the head of a column on a page: capitalised, its unit small below, linked to its definition."""
    title, unit = _title_and_unit(column)
    title = escape(sentence(title))
    linked = f'<a href="#def-{column.term}">{title}</a>' if column.term else title
    return linked + (f"<small>{escape(unit)}</small>" if unit else "")


def _title_and_unit(column: Column[Any]) -> tuple[str, str]:
    """Split the header of a column into title and unit, each in one line."""
    found = _HEADER.fullmatch(column.header)
    assert found is not None, "any header matches"
    title, unit = (" ".join(part.split()) for part in found.groups(""))
    return title, unit


def _class(names: str) -> str:
    return f' class="{names}"' if names else ""


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Print lines as they are."""
    for line in lines:
        console.print(line, markup=False, highlight=False)


def print_text(console: Console, text: str, *, indent: str = "") -> None:
    """Print any text, broken between words; names and paths stay whole."""
    line = f"{text[: len(text) - len(text.lstrip())]}{printable_line(text, _LONGEST_LINE)}"
    lines = fill(line, console.width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    console.print(lines, markup=False, highlight=False, soft_wrap=True)


def print_findings(console: Console, found: Sequence[str], most: int = 5) -> None:
    """Print the first ``most`` findings, a sentence each."""
    for text in found[:most]:
        print_text(console, f"- {text}", indent="  ")


def print_rest(console: Console, left_out: Sequence[str], where: str) -> None:
    """Print what a brief table lacks, and where to find it."""
    print_text(console, f"Not shown: {', '.join(left_out)}; see {where}.")


def printed(show: Callable[[Console], object], width: int) -> str:
    """Capture what is printed to a console, as lines without colours."""
    from rich.console import Console

    stream = io.StringIO()
    show(Console(file=stream, width=width, force_terminal=False, no_color=True, highlight=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


# Text of any origin, made printable.


def escaped(text: str) -> str:
    """Escape characters that are not printable, line feeds too, as Python does."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def sentence(text: str) -> str:
    """Capitalise the first letter."""
    return text[:1].upper() + text[1:]


def printable_line(text: str, longest: int) -> str:
    """Make a text fit for one line of a terminal, as text in files can hold anything."""
    # longest: most characters that are kept
    return escaped(" ".join(text[: 2 * longest].split())[:longest])


# Lines of plain values as CSV, and as a pandas DataFrame.


def csv_text(lines: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Write lines as CSV (RFC 4180)."""
    # lines: cells by column; missing columns are empty, and so is ``None``. Texts are written as :func:`csv_cells`
    # does
    names = _names(lines, columns)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(csv_cells(names))
    writer.writerows(csv_cells([line.get(name, "") for name in names]) for line in lines)
    return stream.getvalue()


def csv_cells(values: Sequence[Any]) -> list[Any]:
    """Return CSV cells that a spreadsheet shows as they are and never evaluates."""
    # Numbers stay as they are, negative ones and those written as texts too; Booleans are ``true`` and ``false``. Other
    # texts that a spreadsheet would take for a formula get an apostrophe in front, and so do those that look like one
    # behind apostrophes, so that removing one restores every text.
    return [_cell(value) for value in values]


def data_frame(lines: Sequence[Mapping[str, Any]], columns: Sequence[str] = (), only: Sequence[str] = ()) -> DataFrame:
    """Make a pandas DataFrame of the lines and columns that :func:`csv_text` writes, or only some of these columns."""
    require_package("to_pandas", "pandas", "pandas", instead="take to_csv()")
    import pandas

    names = _names(lines, columns)
    return pandas.DataFrame(lines, columns=[name for name in only if name in names] or names).convert_dtypes()


def _names(lines: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*columns, *(column for line in lines for column in line)]))


# Beginning of a formula (OWASP, CSV injection; full-width forms too), also behind apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value
