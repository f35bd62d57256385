"""Draw docs/images/city.jpg: what the four cameras see in Berlin, in five kinds of weather.

python docs/images/city_sheet.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from world4scorer.city.render.cameras import CameraRig
from world4scorer.city.render.renderer import Renderer, StaticWorld
from world4scorer.city.render.weather import PRESETS
from world4scorer.city.streets.network import build_network
from world4scorer.city.streets.places import BERLIN
from world4scorer.city.streets.street_map import read_streets
from world4scorer.city.world.config import CityConfig, Share, Simulation
from world4scorer.city.world.make import SimulationRunner
from world4scorer.jobs.data_folder import DataFolder

CAMERAS = ("CAM_L0", "CAM_F0", "CAM_R0", "CAM_B0")
HEIGHT, WIDTH, GAP = 168, 294, 4
NEAR = 25.0


def busiest(script, taken):
    """The frame of a log with the most road users nearby, and how many there are."""
    counts = [
        sum(np.linalg.norm(frame.actors.pose[:, :2] - frame.ego_pose[:2], axis=1) < NEAR) for frame in script.frames
    ]
    best = int(np.argmax(counts))
    near = any(np.linalg.norm(script.frames[best].ego_pose[:2] - place) < 150.0 for place in taken)
    return (-1 if near else counts[best]), best


def main() -> None:
    """Simulate, choose five busy moments in different places, draw them."""
    share = Share("city_train", "trainval", "berlin-east", 1, 1500)
    config = CityConfig(shares=(share,))
    with tempfile.TemporaryDirectory() as folder:
        path = build_network(BERLIN, DataFolder(Path(folder)).city_network("berlin"))
        scripts = SimulationRunner(Path(folder), config, {"berlin": path})(Simulation(share, 0, 1))
        world = StaticWorld.build(read_streets(path), 0)
    renderer = Renderer(world, CameraRig.default(), size=(HEIGHT, WIDTH), supersample=3, cameras=CAMERAS)
    sheet = Image.new("RGB", (len(CAMERAS) * (WIDTH + GAP) - GAP, len(PRESETS) * (HEIGHT + GAP) - GAP), "white")
    taken: list[np.ndarray] = []
    for row, weather in enumerate(PRESETS.values()):
        script = max(scripts, key=lambda script: busiest(script, taken)[0])
        frame = script.frames[busiest(script, taken)[1]]
        taken.append(frame.ego_pose[:2])
        images = renderer.draw(frame.ego_pose, frame.actors, frame.signals, weather).images
        for column, image in enumerate(images):
            sheet.paste(Image.fromarray(image), (column * (WIDTH + GAP), row * (HEIGHT + GAP)))
    sheet.save(Path(__file__).with_name("city.jpg"), quality=88)


if __name__ == "__main__":
    main()
