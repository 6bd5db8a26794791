"""Make the packaged Sachs data from the public wheel that carries the measurements.

    pip download --no-deps cdt==0.6.0 -d wheels
    python scripts/make_sachs.py wheels/cdt-0.6.0-py3-none-any.whl

The numbers are copied as they are printed there. The same wheel always gives the same file.
"""

import csv
import gzip
import hashlib
import io
import math
import statistics
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

MEMBER = "cdt/data/resources/cyto_full_data.csv"
SHA256 = "fc331dcd0bc1d8765986b88cd1d23dd5a3f52e4ffc299fdf96de9d522ddf01aa"

NAMES = {
    "praf": "Raf",
    "pmek": "Mek",
    "plcg": "PLCg",
    "PIP2": "PIP2",
    "PIP3": "PIP3",
    "p44/42": "Erk",
    "pakts473": "Akt",
    "PKA": "PKA",
    "PKC": "PKC",
    "P38": "P38",
    "pjnk": "Jnk",
}
SIZES = (853, 902, 911, 723, 810, 799, 848, 913, 707)
"""Cells in experiments 1 to 9; the file has no labels, but its rows are in this order."""
DROPPED = 2
"""ICAM-2 beside alpha-CD3/28: not among the paper's eight."""

TARGET = Path(__file__).parent.parent / "src" / "causal_bandits" / "datasets" / "sachs_2005.csv.gz"


def measurements(wheel: Path) -> list[list[str]]:
    """The rows of the file in the wheel, checked."""
    content = zipfile.ZipFile(wheel).read(MEMBER)
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise SystemExit(f"{MEMBER} in {wheel} is not the file of cdt 0.6.0 (SHA-256 {SHA256})")
    header, *rows = csv.reader(io.StringIO(content.decode()))
    if header != list(NAMES):
        raise SystemExit(f"the columns are {header}; expected {list(NAMES)}")
    if len(rows) != sum(SIZES):
        raise SystemExit(f"{len(rows)} rows; expected {sum(SIZES)}")
    if not all(len(row) == len(NAMES) and all(float(value) > 0 for value in row) for row in rows):
        raise SystemExit("a row does not hold eleven positive numbers")
    return rows


def blocks(rows: list[list[str]]) -> Iterator[tuple[int, list[list[str]]]]:
    """The number of every experiment that is kept, with its rows."""
    start = 0
    for number, size in enumerate(SIZES, start=1):
        if number != DROPPED:
            yield number, rows[start : start + size]
        start += size


def main(wheel: Path) -> None:
    """Write the packaged file and say what it holds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["experiment", *NAMES.values()])
    sys.stdout.write("experiment  cells  mean Raf  mean log Raf  mean PKC  mean log PKC\n")
    raf, pkc = list(NAMES).index("praf"), list(NAMES).index("PKC")
    for number, rows in blocks(measurements(wheel)):
        writer.writerows([number, *row] for row in rows)
        columns = [[float(row[place]) for row in rows] for place in (raf, pkc)]
        means = [f(column) for column in columns for f in (statistics.fmean, _mean_log)]
        sys.stdout.write(f"{number:10} {len(rows):6}" + "".join(f"  {mean:12.6f}" for mean in means) + "\n")
    # No time and no file name in the header, so that equal rows make equal files.
    TARGET.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    sys.stdout.write(f"{TARGET.name}: {TARGET.stat().st_size} bytes\n")


def _mean_log(values: list[float]) -> float:
    return statistics.fmean(map(math.log, values))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python scripts/make_sachs.py cdt-0.6.0-py3-none-any.whl")
    main(Path(sys.argv[1]))
