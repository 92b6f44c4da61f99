"""The containers of an artifact: canonical JSON beside an npz, and one zip around both.

models.storage is the only caller. Reads are bounded: what a header announces is compared with
what is allowed before memory is asked for, because uploads come from the network.
"""

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from models import typed
from models.artifact import Arrays, Json, canonical
from models.errors import ArtifactError

JSON_NAME = "model.json"
NPZ_NAME = "model.npz"
# About the model, and no part of it: may be missing.
REPORT_NAME = "report.json"
# Two networks are 30 KiB of weights; the rest is loss curves. 300 epochs need 10 KiB.
MAX_BYTES = 4 * 1024 * 1024
MAX_ARRAYS = 64
_PACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# What zipfile raises besides its own error: cut off, encrypted, names of no encoding, far offsets.
_ODD = (EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError)
# The times in a zip would change the bytes of equal models.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def write(directory: Path, content: Json, named: Arrays) -> None:
    """Write both files; a reader never sees half of one of them."""
    for name, body in ((NPZ_NAME, _encode_npz(named)), (JSON_NAME, canonical(content))):
        partial = directory / f"{name}.partial"
        partial.write_bytes(body)
        partial.replace(directory / name)


def read(directory: Path) -> tuple[Json, Arrays]:
    """Read both files.

    Raises:
        ArtifactError: one is missing, too large or damaged.
    """
    bodies = []
    for name in (JSON_NAME, NPZ_NAME):
        path = directory / name
        if not path.is_file():
            raise ArtifactError(f"{path} is missing: give the directory that `train --out` wrote")
        if path.stat().st_size > MAX_BYTES:
            raise ArtifactError(f"{path} is larger than {MAX_BYTES} bytes: it is no model of ours")
        bodies.append(path.read_bytes())
    return _decode_json(bodies[0]), _decode_npz(bodies[1])


def pack(content: Json, named: Arrays) -> bytes:
    """Put both files into one zip; equal models give equal bytes."""
    return _zip({JSON_NAME: canonical(content), NPZ_NAME: _encode_npz(named)})


def unpack(body: bytes) -> tuple[Json, Arrays]:
    """Take both files out of one zip.

    Raises:
        ArtifactError: no zip, other members than the two, too large or damaged.
    """
    parts = _unzip(body, "the upload")
    if set(parts) - {REPORT_NAME} != {JSON_NAME, NPZ_NAME}:
        raise ArtifactError(f"the zip holds {sorted(parts)}, expected {JSON_NAME} and {NPZ_NAME}")
    return _decode_json(parts[JSON_NAME]), _decode_npz(parts[NPZ_NAME])


def _decode_json(body: bytes) -> Json:
    try:
        content = typed.loaded(body)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{JSON_NAME} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ArtifactError(f"{JSON_NAME} is not an object")
    return content


def with_report(body: bytes, report: bytes) -> bytes:
    """Add the report to what `pack` made."""
    return _zip({**_unzip(body, "the upload"), REPORT_NAME: report})


def enclosed_report(body: bytes) -> bytes | None:
    """The report in one zip; None without one, ArtifactError when it is no readable zip."""
    return _unzip(body, "the upload").get(REPORT_NAME)


def _encode_npz(named: Arrays) -> bytes:
    parts = {}
    for name in sorted(named):
        buffer = io.BytesIO()
        npy.write_array(buffer, np.ascontiguousarray(named[name]), allow_pickle=False)
        parts[f"{name}.npy"] = buffer.getvalue()
    return _zip(parts)


def _decode_npz(body: bytes) -> Arrays:
    parts = _unzip(body, NPZ_NAME)
    return {name.removesuffix(".npy"): _decode_array(name, part) for name, part in parts.items()}


def _decode_array(name: str, part: bytes) -> np.ndarray[Any, np.dtype[Any]]:
    buffer = io.BytesIO(part)
    try:
        if npy.read_magic(buffer) != (1, 0):
            raise ArtifactError(f"{name} in {NPZ_NAME} is not version 1.0 of the npy format")
        shape, _, dtype = npy.read_array_header_1_0(buffer)
        # A header may announce terabytes that do not follow.
        if int(np.prod(shape, dtype=object)) * dtype.itemsize != len(part) - buffer.tell():
            raise ArtifactError(f"{name} in {NPZ_NAME} announces another size than it has")
        buffer.seek(0)
        return np.asarray(npy.read_array(buffer, allow_pickle=False))
    except ArtifactError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise ArtifactError(f"{name} in {NPZ_NAME} is damaged: {error}") from error


def _zip(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=_ZIP_TIME), part)
    return buffer.getvalue()


def _unzip(body: bytes, what: str) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = archive.infolist()
            if not {member.compress_type for member in members} <= _PACKED:
                raise ArtifactError(f"{what} is packed in another way than stored or deflated")
            size = sum(member.file_size for member in members)
            if len(members) > MAX_ARRAYS or size > MAX_BYTES:
                raise ArtifactError(f"{what} unpacks to {size} bytes, at most {MAX_BYTES} allowed")
            return {member.filename: archive.read(member) for member in members}
    except ArtifactError:
        raise
    except (zipfile.BadZipFile, zlib.error, *_ODD) as error:
        raise ArtifactError(f"{what} is not a readable zip: {error}") from error
