"""Memory of arrays, without copies: NumPy, DLPack, and whatever has the buffer protocol."""

from __future__ import annotations

import ctypes
import struct
from typing import Any


class _DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


#: ``kDLCPU`` and the kinds of pinned host memory.
_HOST = {1, 3, 11}


class Memory:
    """Host memory of an array; ``owner`` keeps it alive."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.address, self.size, self.owner = address, size, owner


def _dense(shape: tuple[int, ...], strides: tuple[int, ...] | None, item: int) -> bool:
    """Whether elements follow each other in C order; ``strides`` are in bytes."""
    if strides is None or 0 in shape:
        return True
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


_NOT_DENSE = "is not contiguous in C order; numpy.ascontiguousarray makes a copy that is"
_READ_ONLY = "is read-only, and a kernel may write to what it is given; pass a copy"


def _of_dlpack(array: Any, name: str) -> Memory:
    kind = int(array.__dlpack_device__()[0])
    if kind not in _HOST:
        raise TypeError(f"{name} is in memory of a device (DLPack device type {kind}), not of the host")
    capsule = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The capsule is not consumed: it frees its tensor itself once nobody holds it.
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    item = (tensor.dtype.bits * tensor.dtype.lanes + 7) // 8
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * item for i in range(tensor.ndim)) if tensor.strides else None
    if not _dense(shape, strides, item):
        raise ValueError(f"{name} {_NOT_DENSE}")
    count = 1
    for extent in shape:
        count *= extent
    return Memory((tensor.data or 0) + tensor.byte_offset, count * item, (array, capsule))


def memory(array: Any, name: str) -> Memory | None:
    """The memory of an array; ``None`` for what is none."""
    interface = getattr(array, "__array_interface__", None)
    # NumPy's scalars have an interface too, and no memory of their own.
    if isinstance(interface, dict) and hasattr(array, "ctypes"):
        address, read_only = interface["data"]
        shape, item = interface["shape"], int(array.itemsize)
        if array.dtype.hasobject:
            raise TypeError(f"{name} holds Python objects")
        if read_only:
            raise ValueError(f"{name} {_READ_ONLY}")
        if not _dense(shape, interface["strides"], item):
            raise ValueError(f"{name} {_NOT_DENSE}")
        return Memory(address, int(array.nbytes), array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, name)
    if isinstance(array, (bytes, str)) or hasattr(array, "dtype"):
        return None
    try:
        view = memoryview(array)
    except TypeError:
        return None
    if view.readonly:
        raise ValueError(f"{name} {_READ_ONLY}")
    if not view.c_contiguous:
        raise ValueError(f"{name} {_NOT_DENSE}")
    if view.nbytes == 0:
        return Memory(0, 0, view)
    held = (ctypes.c_char * view.nbytes).from_buffer(view)
    return Memory(ctypes.addressof(held), view.nbytes, held)


_FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def value(argument: Any, parameter: dict[str, Any]) -> bytes:
    """The bytes of a value for a parameter."""
    name, declared, size = parameter["name"], parameter["declaration"], parameter["bytes"]
    what = f"argument for `{name}` ({declared})"
    kind = parameter["type"]
    if isinstance(argument, (bytes, bytearray)) or parameter["array"]:
        data: bytes = argument.tobytes() if hasattr(argument, "tobytes") else bytes(argument)
        if len(data) != size:
            raise ValueError(f"{what} has {len(data)} bytes, the parameter has {size}")
        return data
    if hasattr(argument, "tobytes") and getattr(argument, "dtype", None) is not None:
        # A scalar of NumPy: its own bits for untyped parameters, its value otherwise.
        if kind.startswith("b") and kind != "bf16" and argument.dtype.itemsize == size:
            return bytes(argument.tobytes())
        argument = argument.item()
    if isinstance(argument, ctypes._SimpleCData):
        argument = argument.value
    if kind in _FLOATS or kind == "bf16":
        if not isinstance(argument, (int, float)):
            raise TypeError(f"{what} is {argument!r}, not a number")
        if kind == "bf16":
            (bits,) = struct.unpack("<I", struct.pack("<f", argument))
            return struct.pack("<H", min((bits + 0x7FFF + (bits >> 16 & 1)) >> 16, 0xFFFF))
        try:
            return struct.pack("<" + _FLOATS[kind], argument)
        except OverflowError:
            raise ValueError(f"{what} is {argument!r}, which is out of range") from None
    if isinstance(argument, float):
        raise TypeError(f"{what} is {argument!r}, not an integer")
    try:
        number = int(argument)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {argument!r}, neither a number nor an array in host memory") from None
    # PTX's parameters do not say whether a number has a sign: nvcc and ptxrun declare `int` as `.u32`.
    low, high = -(1 << 8 * size - 1), (1 << 8 * size) - 1
    if not low <= number <= high:
        raise ValueError(f"{what} is {number}, which is out of range")
    return (number & (1 << 8 * size) - 1).to_bytes(size, "little")
