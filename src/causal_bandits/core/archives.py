"""Archives of plain arrays: zip files of .npy members that are checked before anything is unpacked.

A few megabytes of zip can claim to hold terabytes. So the size of every member and the shape it declares are compared
with a limit and with each other first, members that nobody asks for are not read, and nothing is ever pickled.
"""

import io
import math
import zipfile
import zlib
from collections.abc import Collection
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MOST_MEMBERS = 256
MOST_BYTES = 2**30
MOST_RATIO = 100
"""An archive may unpack to 1 GiB, or to this many times its own size if that is more."""

DAMAGED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,  # also NotImplementedError and RecursionError
    SyntaxError,
    TokenError,  # of a header that numpy reads as Python
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that reading a corrupt archive can raise."""


class TooLargeError(ValueError):
    """The archive would unpack to more than the limit."""


def write_arrays(stream: IO[bytes], arrays: dict[str, NDArray[Any]], *, compressed: bool) -> None:
    """Write arrays in their order."""
    save = np.savez_compressed if compressed else np.savez
    save(stream, allow_pickle=False, **arrays)


class Archive:
    """An archive that is open for reading."""

    def __init__(self, stream: IO[bytes]) -> None:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        self._zip = zipfile.ZipFile(stream)
        self._left = max(MOST_BYTES, MOST_RATIO * size)
        self._limit = self._left
        members = self._zip.infolist()
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        if len(members) > MOST_MEMBERS or len(self._members) < len(members):
            raise ValueError("it has too many members, or two with the same name")

    @property
    def names(self) -> Collection[str]:
        """The names of the arrays in it."""
        return self._members.keys()

    def read(self, name: str) -> NDArray[Any]:
        """One array, after its size was checked."""
        member = self._members[name]
        if member.file_size > self._left:
            raise TooLargeError(f"it unpacks to more than {self._limit:,} bytes; save it in smaller parts")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"member {name!r} uses an unsupported compression")
        self._left -= member.file_size
        with self._zip.open(member) as stream:
            check_shape(stream, member.file_size)
        with self._zip.open(member) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
            if stream.read(1):  # reads the check sum too
                raise ValueError(f"member {name!r} has extra bytes after its array")
        return array


def check_shape(stream: IO[bytes], size: int) -> None:
    """The header of an .npy member declares exactly as many bytes as the member has."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"its arrays have format {version}")
    if dtype.hasobject or any(length < 0 for length in shape):
        raise ValueError("its arrays hold objects")
    if math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError("an array does not have its declared size")
