"""The city as an environment, checked by Gymnasium itself and against a drive of the closed loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from world4scorer.city.world.simulation import CitySimulation  # noqa: E402
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes  # noqa: E402
from world4scorer.driving.closed_loop.drive import DrivingWorld, drive_route  # noqa: E402
from world4scorer.driving.closed_loop.drivers import ConstantVelocityDriver  # noqa: E402
from world4scorer.driving.environment.city_env import CityEnv  # noqa: E402


@pytest.fixture(scope="module")
def routes(city: Path) -> list[CityRoute]:
    return find_routes(city, "city_train", 2)


@pytest.fixture(scope="module")
def env(city: Path, routes: list[CityRoute]) -> Iterator[CityEnv]:
    made = CityEnv(city, routes=routes, images=False)
    yield made
    made.close()


def straight_on(speed: float) -> np.ndarray:
    """The plan of a driver that keeps its speed."""
    return np.column_stack([0.5 * np.arange(1, 9) * speed, np.zeros(8), np.zeros(8)])


def test_gymnasium_finds_nothing_wrong(city: Path, routes: list[CityRoute]) -> None:
    env = CityEnv(city, routes=routes[:1], render_mode="rgb_array")
    check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    assert env.render().shape == observation["images"].shape[1:] and observation["images"].any()
    env.close()


def test_the_return_of_an_episode_is_its_driving_score(city: Path, env: CityEnv, routes: list[CityRoute]) -> None:
    """The same route at constant velocity, by the environment and by the closed loop."""
    observation, info = env.reset(options={"route": routes[0].name})
    assert info["route"] == routes[0].name and info["progress_m"] == 0.0
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(straight_on(observation["ego"][0]))
        total, over = total + reward, terminated or truncated
    with CitySimulation(city) as simulation:
        world = DrivingWorld(city, routes[0].place)
        expected = drive_route(simulation, world, routes[0], ConstantVelocityDriver()).record
    assert expected.scores is not None
    assert total == pytest.approx(expected.scores.composed / 100, abs=0.02)  # float32 observations
    assert info["driving_score"] / 100 == pytest.approx(total, abs=1e-9)
    with pytest.raises(ValueError, match="call reset first"):
        env.step(straight_on(1.0))


def test_environments_in_parallel_choose_from_a_pool(city: Path, routes: list[CityRoute]) -> None:
    pool = np.stack([straight_on(speed) for speed in (0.0, 4.0)])
    make = partial(CityEnv, city, routes=routes[:1], images=False, pool=pool, comfort=0.5)
    envs = gymnasium.vector.SyncVectorEnv([make, make])
    observations, _ = envs.reset(seed=3)
    assert observations["route"].shape == (2, 4, 2) and envs.single_action_space.n == 2
    _, rewards, *_ = envs.step(np.array([1, 1]))
    assert rewards.shape == (2,) and (rewards < 0.5).all()  # nothing to continue yet
    with pytest.raises(ValueError, match="plans 0 to 1"):
        envs.step(np.array([1, 2]))
    envs.close()


def test_what_is_wrong_is_said(city: Path, env: CityEnv, routes: list[CityRoute]) -> None:
    with pytest.raises(ValueError, match="not among the 2"):
        env.reset(options={"route": "nowhere"})
    with pytest.raises(ValueError, match="with images"):
        CityEnv(city, routes=routes, images=False, render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(np.full((8, 3), np.nan))
