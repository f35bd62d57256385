"""Files made to hurt: code in pickles, sizes beyond memory, deep nesting, names that leave their folder.

Each is given to every reader that could meet it, with little memory: a ValueError, at most a little time, and a canary
that nobody may touch.
"""

from __future__ import annotations

import gzip
import io
import itertools
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.faults.attack import Result, in_child
from tests.faults.readers import READERS, problem_of
from world4scorer.datasets.navsim.cameras import Camera
from world4scorer.jobs.names import is_safe_name

CANARY: Final = "canary"
DEEP: Final = 100_000
PICKLES: Final = ("log", "submission", "pools", "synthetic")
TEXTS: Final = ("settings", "model config", "train config", "annotation, unpacked", "message")
YAMLS: Final = ("filter", "split")

NAMES: Final = (
    *("../x", "../../x", "/x", "/etc/passwd", "a/b", "a\\b", "..\\x", ".", "..", "", " ", "x ", " x", "x.", ".x"),
    *("a\0b", "a\nb", "\x1b[2J", "a:b", "C:x", "CON", "nul", "COM1", "lpt9.txt", "aux", "x" * 300, "?", "*", "a|b"),
    *("<x>", '"x"', "\ud800"),
)
"""What may not be a token or the name of a log."""
PATHS: Final = ("../x", "/etc/passwd", "a/../../x", "..", "a\0b", "/", "a/b/../../../c")
"""What may not be the path of an image."""


class _Call:
    """Asks for a call when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


def pickles(canary: Path) -> Iterator[tuple[str, bytes]]:
    """Pickles that run code, take memory or never end, if the reader lets them."""
    import builtins
    import os
    import shutil
    import subprocess

    calls = {
        "os.mkdir": _Call(os.mkdir, str(canary)),
        "open": _Call(builtins.open, str(canary), "w"),
        "eval": _Call(eval, f"open({str(canary)!r}, 'w')"),
        "exec": _Call(exec, f"open({str(canary)!r}, 'w')"),
        "system": _Call(os.system, f"touch {canary}"),
        "run": _Call(subprocess.run, ["touch", str(canary)]),
        "copy": _Call(shutil.copy, __file__, str(canary)),
        "getattr": _Call(getattr, "", "format"),
        "save": _Call(np.save, str(canary), [1]),
        "memmap": _Call(np.memmap, str(canary), "u1", "w+", 0, (8,)),
        "load": _Call(np.load, __file__, None, True),
    }
    for (name, call), protocol in itertools.product(calls.items(), range(6)):
        yield f"{name}, protocol {protocol}", pickle.dumps(call, protocol)
        yield f"{name} in a dict, protocol {protocol}", pickle.dumps({"a" * 16: [call]}, protocol)
    yield "memo", b"]r\xff\xff\xff\x7f."
    yield "long memo", b"\x80\x04]j\xff\xff\xff\x7f."
    yield "bytes", b"\x80\x04\x8e" + struct.pack("<Q", 2**60) + b"."
    yield "text", b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"."
    yield "frame", b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N."
    yield "long", b"\x8b" + struct.pack("<i", 2**31 - 1) + b"."
    yield "decimal", b"L" + b"9" * 100_000 + b"L\n."
    yield "itself", b"]q\x00h\x00a."
    yield "mark", b"(" * DEEP + b"."
    yield "tuple", b")" + b"\x85" * 2000 + b"."
    yield "pop", b"0."
    yield "empty", b""
    kinds = (b"f8", b"O8", b"U2000000000", b"S2147483647", b"V1000000", b"f8,O", b"M8[s]")
    for kind, shape in itertools.product(kinds, ((2**62,), (-1,), (2**33, 2**33), (0, 2**62), (1,))):
        sides = b"".join(b"L%dL\n" % side for side in shape)
        dtype = b"cnumpy\ndtype\n(S'%b'\nI0\nI1\ntR" % kind
        start = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n("
        yield f"array {kind!r} {shape}", start + sides + b"t" + dtype + b"I00\nS'xxxxxxxx'\ntb."


def texts() -> Iterator[tuple[str, bytes]]:
    """JSON that is too deep, too long or no JSON."""
    for opening in (b"[", b'{"a":', b"[{"):
        for depth in (1000, DEEP, 5 * DEEP):
            yield f"{opening!r} x {depth}", opening * depth
    yield "numbers", b'{"a": ' + b"9" * 20_000 + b"}"
    yield "infinite", b'{"format": Infinity, "a": -Infinity, "b": NaN}'
    yield "surrogate", b'{"format": "\\ud800"}'
    yield "no object", b"[1, 2]"
    yield "not UTF-8", b"\xff\xfe{\0}\0"
    yield "zeros", bytes(1000)


def yamls() -> Iterator[tuple[str, bytes]]:
    """YAML that is too deep or stands for too much, and values of a wrong kind."""
    yield "brackets", b"a: " + b"[" * DEEP
    yield "braces", b"{a: " * DEEP
    yield "dashes", b"- " * DEEP
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    yield "aliases", "\n".join(lines).encode()
    yield "merge", b"a: &a {b: 1}\n<<: [*a, *a]"
    for value in (
        "!!timestamp x",
        "!!int ''",
        "!!int x",
        "!!float x",
        "!!bool x",
        "!!binary '?'",
        "2001-99-99",
        "? [a]",
    ):
        yield value, f"tokens: {value}\n".encode()
        yield f"{value} as a key", f"? {value}\n: 1\n".encode()
    for call in ("!!python/object/apply:os.system [touch canary]", "!!python/name:os.system", "!!python/module:os"):
        yield call, f"tokens: {call}\n".encode()
    for name in ("tokens", "log_names", "num_history_frames", "data_split"):
        for value in ("-1", "null", "1e999", "{}", "[[]]", "'../x'", "99999999999999999999"):
            yield f"{name}: {value}", f"{name}: {value}\n".encode()


def archives() -> Iterator[tuple[str, bytes]]:
    """Archives whose arrays are larger than they are."""
    for shape in ((2**50,), (2**62, 2), (-1,), (2**31,), (10**9, 10**9)):
        for kind in ("<f8", "|u1", "|O", "<U1000000"):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
            content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
            yield f"{kind} {shape}", _zipped({"meta_json.npy": content, "token.npy": content})
    yield "zeros", _zipped({f"{n}.npy": bytes(20_000_000) for n in range(4)})
    yield "names", _zipped({"../../x.npy": b"x", "/etc/x.npy": b"x"})
    yield "header", _zipped({"token.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{"})
    yield "python", _zipped({"token.npy": b"\x93NUMPY\x01\x00\x20\x00__import__('os').mkdir('canary')\n"})


def _zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def gzips() -> Iterator[tuple[str, bytes]]:
    """Annotations that unpack to too much."""
    yield "spaces", gzip.compress(b" " * 200_000_000 + b"{}", 1)
    yield "cut", gzip.compress(b"{}")[:-3]
    yield "no gzip", b"{}"


def corpora(canary: Path) -> Iterator[tuple[str, str, bytes]]:
    """Reader, name and content of all of them."""
    groups: tuple[tuple[tuple[str, ...], Callable[[], Iterator[tuple[str, bytes]]]], ...] = (
        (PICKLES, lambda: pickles(canary)),
        (TEXTS, texts),
        (YAMLS, yamls),
        (("exchange",), archives),
        (("annotation",), gzips),
    )
    for readers, made in groups:
        for name, content in made():
            for reader in readers:
                yield reader, name, content


def hostile_files(seed: int, folder: Path) -> Result:
    """All of them, or every tenth: by the seed's last digit, 0 for all."""
    chosen = list(enumerate(corpora(folder / CANARY)))[seed % 10 :: 10] if seed % 10 else None
    files = [file for _, file in chosen] if chosen else list(corpora(folder / CANARY))
    ended = in_child(lambda: _read_all(files, folder), timeout=900, limit_memory=True)
    problems = ended.value if ended.value is not None else [ended.error or ended.died]
    problems += [f"name {name!r} is taken for safe" for name in NAMES if is_safe_name(name)]
    problems += [f"camera path {path!r} is taken" for path in PATHS if _takes_camera(path)]
    return Result(len(files) + len(NAMES) + len(PATHS), tuple(problems))


def _read_all(files: list[tuple[str, str, bytes]], folder: Path) -> list[str]:
    wrong = []
    for reader, name, content in files:
        path = folder / "input"
        if problem := problem_of(reader, content, path):
            wrong.append(f"{reader}, {name}: {problem}")
        left = sorted(one.name for one in folder.iterdir() if one.name not in (path.name, "scene_filter"))
        if left:
            wrong.append(f"{reader}, {name}: made {left}")
            (folder / left[0]).rename(folder.parent / f"{folder.name}-{len(wrong)}")
    return wrong


def _takes_camera(path: str) -> bool:
    fields: dict[str, Any] = {
        "data_path": path,
        "sensor2lidar_rotation": np.eye(3),
        "sensor2lidar_translation": np.zeros(3),
        "cam_intrinsic": np.eye(3),
        "distortion": np.zeros(5),
    }
    try:
        Camera.from_raw("CAM_F0", fields, "here")
    except ValueError:
        return False
    return True


assert set(PICKLES + TEXTS + YAMLS) <= READERS.keys()
