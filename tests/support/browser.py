"""A headless Chromium that looks at explorer pages; tests are skipped where it or selenium is missing."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.server import ExplorerServer

SECONDS = 60.0
"""Longest wait for a page."""
READY = "return document.body.dataset.state === 'ready' && document.body.dataset.tables === 'all'"


class Page:
    """A page in the browser: what it shows, and what people do with it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> Page:
        """Open an address anew, and wait until all is loaded."""
        self.driver.get("about:blank")  # another fragment alone would not load the page again
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address)
        self.wait(READY)
        return self

    def wait(self, condition: str, *arguments: Any) -> None:
        """Wait until a script returns true."""
        end = time.monotonic() + SECONDS
        while not self.driver.execute_script(condition, *arguments):
            assert time.monotonic() < end, f"{condition}: not within {SECONDS} s; {self.run('document.body.innerText')}"
            time.sleep(0.02)

    def run(self, expression: str, *arguments: Any) -> Any:
        """Value of an expression in the page."""
        return self.driver.execute_script(f"return ({expression})", *arguments)

    def put(self, name: str, value: str | bool) -> None:
        """Use a control as people do, and wait for the drawing."""
        self.act(
            "const input = document.getElementById(arguments[0]);"
            "if (input.type === 'checkbox') input.checked = arguments[1]; else input.value = arguments[1];"
            "input.dispatchEvent(new Event('input', {bubbles: true}));",
            name,
            value,
        )

    def press(self, key: str) -> None:
        """Press a key with the focus on nothing."""
        self.act("document.activeElement.blur(); document.body.dispatchEvent("
                 "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key)  # fmt: skip

    def act(self, script: str, *arguments: Any) -> None:
        """Run a script that changes something, and wait until it is drawn."""
        self.driver.execute_script("document.body.dataset.milliseconds = ''; " + script, *arguments)
        self.wait("return document.body.dataset.milliseconds !== '' && document.body.dataset.state === 'ready'")

    @property
    def address(self) -> str:
        """Address of the view; it is written a moment after the last change."""
        self.wait("return decodeURIComponent(location.hash) === decodeURIComponent(explorer.link)")
        found: str = self.driver.current_url
        return found

    def drag(self, name: str, *pointers: tuple[tuple[float, float], tuple[float, float]]) -> None:
        """Drag one or more fingers over an element, each between two points given as shares of its box."""
        self.act(
            "const element = document.querySelector(arguments[0]), box = element.getBoundingClientRect();"
            "element.setPointerCapture = () => {};"  # fingers that are not there cannot be captured
            "const send = (type, end) => arguments[1].forEach((pointer, at) => element.dispatchEvent(new PointerEvent("
            "type, {pointerId: at + 1, bubbles: true, clientX: box.left + pointer[end][0] * box.width,"
            "clientY: box.top + pointer[end][1] * box.height})));"
            "send('pointerdown', 0); send('pointermove', 1); send('pointerup', 1);",
            name,
            pointers,
        )

    @property
    def listed(self) -> list[str]:
        """Tokens of the frames that pass the filters, in order."""
        found: list[str] = self.run(
            "explorer.listed.map((one) => explorer.model.token(explorer.state.run, one))",
        )
        return found

    @property
    def errors(self) -> list[str]:
        """What the console complains of."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    @property
    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in sent if one["request"]["url"] != "about:blank"]

    def picture(self) -> str:
        """The bird's-eye view as it is drawn."""
        found: str = self.run("document.querySelector('.birdseye').toDataURL()")
        return found


@contextmanager
def open_browser(width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A browser for the length of a block."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    try:
        yield Page(driver)
    finally:
        driver.quit()


@contextmanager
def serving(*sources: Path | ExploredRun) -> Iterator[ExplorerServer]:
    """A server of runs, or of folders of pools, for the length of a block."""
    runs = [ExploredRun.open(source) if isinstance(source, Path) else source for source in sources]
    with ExplorerServer(runs) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
