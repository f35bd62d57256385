"""`w4s explore` as a process: it prints its address, answers there, and stops at Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.stored_pools import store_pools


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    pools = store_pools(tmp_path)
    command = [sys.executable, "-m", "world4scorer", "explore", str(pools), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = re.match(r"(http://127\.0\.0\.1:\d+/) shows 15 frames of 3 logs", line)
            assert address is not None, line
            with urlopen(f"{address[1]}catalogue.json", timeout=30) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
