from __future__ import annotations

import pytest
import torch

from world4scorer.cube.episodes import EpisodeKind, Episodes, read_episodes
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import SCORED
from world4scorer.cube.model.lewm import Lewm
from world4scorer.cube.model.world_model import ActionScale, LewmWorldModel
from world4scorer.cube.presets import SMOKE
from world4scorer.cube.simulator.camera import Camera
from world4scorer.cube.simulator.cube_env import CubeSimulator, this_process_simulator
from world4scorer.cube.study import (
    Study,
    choose_weight,
    make_data,
    make_groups,
    make_head,
    make_inverse,
    make_world_model,
    play_all,
)


@pytest.fixture(scope="session")
def simulator() -> CubeSimulator:
    return this_process_simulator()


@pytest.fixture(scope="session")
def rendering(simulator: CubeSimulator) -> None:
    """Skips where the system has no library to render with."""
    try:
        Camera(simulator, 8).close()
    except CubeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of the smallest size with its episodes."""
    study = Study.begin(tmp_path_factory.mktemp("cube") / "study", "smoke")
    make_data(study, workers=1, progress=False)
    return study


@pytest.fixture(scope="session")
def finished(begun: Study) -> Study:
    """The same with everything in it."""
    preset = begun.preset
    make_world_model(begun, preset.world_model, progress=False)
    make_groups(begun, preset.collect, workers=1, progress=False)
    for head in (preset.head, preset.path_head):
        make_head(begun, head, progress=False)
    make_inverse(begun, preset.inverse, progress=False)
    weights = [choose_weight(begun, preset.weights, player, 1, progress=False).weight for player in SCORED]
    play_all(begun, *weights, preset.evaluate, workers=1, progress=False)
    return begun


@pytest.fixture(scope="session")
def expert(begun: Study) -> Episodes:
    return read_episodes(begun.episodes, EpisodeKind.EXPERT)


@pytest.fixture(scope="session")
def untrained(expert: Episodes) -> LewmWorldModel:
    """A model with open gates: at the start of training actions have no effect at all."""
    torch.manual_seed(0)
    network = Lewm(SMOKE.world_model.sizes)
    for layer in network.predictor.layers:
        torch.nn.init.normal_(layer.modulation.weight, std=0.3)
    return LewmWorldModel(network, ActionScale.of(expert.actions))
