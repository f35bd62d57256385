"""Fuzz a reader of bytes from outside, guided by coverage. Needs atheris (pip install atheris; not an extra of ours).

    python benchmarks/fuzz.py submission -max_total_time=60
    python benchmarks/fuzz.py --list

Arguments after the name are those of libFuzzer. What fails is a file `crash-*` or `slow-*` in the current folder: put
it into tests/faults/corpora/READER, where the tests read it from then on.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

INSTRUMENTED = ["world4scorer", "yaml"]
"""Packages whose branches guide the fuzzer."""


def main() -> None:
    """Fuzz until libFuzzer ends."""
    import atheris  # here, so that this file can be read without it

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.faults.readers import CORPORA, READERS, problem_of
    if sys.argv[1:2] == ["--list"]:
        print("\n".join(READERS))
        return
    name, *options = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="w4s-fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, content in enumerate(READERS[name].seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    for path in (CORPORA / name).glob("*"):
        (corpus / path.name).write_bytes(path.read_bytes())
    words = folder / "words.dict"
    words.write_text("".join('"' + "".join(f"\\x{b:02x}" for b in word) + '"\n' for word in READERS[name].tokens))
    options += [f"-dict={words}"] if READERS[name].tokens else []  # an empty one is refused
    path = folder / "input"

    def one(content: bytes) -> None:
        if problem := problem_of(name, content, path):
            raise RuntimeError(problem)

    os.environ.setdefault("PYTHONHASHSEED", "0")
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=4096", "-timeout=30", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
