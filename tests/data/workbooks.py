"""A workbook as small as one can be, written without a library."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, tuple):
        return f'<c r="{value[0]}"><v>{value[1]}</v></c>'
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def _linked(links: Mapping[str, tuple[str, str]]) -> str:
    each = (f'<Relationship Id="{name}" Type="{LINKS}/{kind}" Target="{to}"/>' for name, (kind, to) in links.items())
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(each)}</Relationships>'


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> None:
    """Write sheets of rows of numbers and text; a pair is the address of a cell and its number."""
    kinds = "application/vnd.openxmlformats-package.relationships+xml"
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="s{n}"/>' for n, name in enumerate(sheets, 1))
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="{kinds}"/>'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        book.writestr("_rels/.rels", _linked({"r": ("officeDocument", "xl/workbook.xml")}))
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{names}</sheets></workbook>'
        )
        links = {f"s{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)}
        book.writestr("xl/_rels/workbook.xml.rels", _linked(links))
        for number, rows in enumerate(sheets.values(), 1):
            cells = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
            book.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>',
            )
