"""The shared library with the engine: where it is, and requests to it."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

#: The interface that this package speaks; a library of another release speaks another.
INTERFACE = 1

_NAMES = {"darwin": "libptxrun_core.dylib", "win32": "ptxrun_core.dll"}
#: The file of the library on this system.
FILE = _NAMES.get(sys.platform, "libptxrun_core.so")


class _Reply(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def folder() -> Path:
    """The folder of the libraries: the one that ``PTXRUN_LIBDIR`` names, or the one in this package."""
    named = os.environ.get("PTXRUN_LIBDIR")
    place = Path(named) if named else Path(__file__).resolve().parent / "lib"
    if not (place / FILE).is_file():
        raise ImportError(
            f"{FILE} is not in {place}; install the wheel of ptxrun, or build it "
            "(cargo build --release -p ptxrun-core) and set PTXRUN_LIBDIR to its folder"
        )
    return place


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The library, loaded once. Importing the package does not load it."""
    global _library
    if _library is None:
        # Local, so that its cu... functions do not stand in for those of a real driver in this process.
        loaded = ctypes.CDLL(str(folder() / FILE))
        loaded.ptxrun_request.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        loaded.ptxrun_request.restype = _Reply
        loaded.ptxrun_release.argtypes = [_Reply]
        loaded.ptxrun_release.restype = None
        loaded.ptxrun_main.argtypes = [
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_char_p),
            ctypes.c_char_p,
        ]
        loaded.ptxrun_main.restype = ctypes.c_int
        _library = loaded
        about = request({"do": "version"})
        if about.get("interface") != INTERFACE:
            _library = None
            raise ImportError(
                f"{folder() / FILE} speaks interface {about.get('interface')}, this package {INTERFACE}"
            )
    return _library


def request(what: dict[str, Any]) -> dict[str, Any]:
    """Asks the engine for something; its reply, which may be an error."""
    loaded = library()
    text = json.dumps(what).encode()
    reply = loaded.ptxrun_request(text, len(text))
    try:
        answer: dict[str, Any] = json.loads(ctypes.string_at(reply.text, reply.bytes))
    finally:
        loaded.ptxrun_release(reply)
    return answer


def main(words: list[str]) -> int:
    """Runs the command in this process; its exit status. Help and wrong usage end the process."""
    loaded = library()
    encoded = [os.fsencode(word) for word in words]
    array = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    return int(loaded.ptxrun_main(len(encoded), array, os.fsencode(folder())))
