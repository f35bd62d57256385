"""Take docs/images/explorer.png and explorer_dark.png: the explorer of a run in headless Chromium.

python docs/images/explorer_sheet.py runs/city --token TOKEN --dark-token TOKEN
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from threading import Thread

import tyro
from PIL import Image

from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.server import ExplorerServer

HERE = Path(__file__).parent
COLOURS = 256
LOADED = (
    "return document.body.dataset.tables === 'all' && (document.getElementById('predicted-view').hidden "
    "|| document.getElementById('predicted-image').naturalWidth > 0)"
)
"""All frames, and the predicted view where there is one."""


def main(run: tyro.conf.Positional[Path], token: str, dark_token: str) -> None:
    """The first by regret in light mode, the second coloured by drivable area compliance in dark mode."""
    from selenium import webdriver

    views = {
        "explorer.png": f"#token={token}&sort=regret&changed=true&step=14",
        "explorer_dark.png": f"#token={dark_token}&theme=dark&colour=v2:DAC&broken=DAC&mode=framewise&reference=true",
    }
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,1040"):
        options.add_argument(argument)
    with ExplorerServer([ExploredRun.open(run)]) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        for name, view in views.items():
            driver.get("about:blank")
            driver.get(server.address + view)
            while not driver.execute_script(LOADED):
                time.sleep(0.1)
            time.sleep(2)  # images
            driver.save_screenshot(str(HERE / name))
            with Image.open(HERE / name) as picture:
                picture.convert("RGB").quantize(COLOURS).save(HERE / name, optimize=True)
        driver.quit()
        server.shutdown()


if __name__ == "__main__":
    tyro.cli(main)
