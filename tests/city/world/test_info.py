from __future__ import annotations

import io
import json
import os
from dataclasses import asdict

import pytest
from rich.console import Console

from world4scorer.city.streets.errors import CityError
from world4scorer.city.streets.network_length import street_km
from world4scorer.city.world import manifest as notes
from world4scorer.city.world.config import CityConfig, Share, preset
from world4scorer.city.world.info import SITUATIONS, city_info
from world4scorer.city.world.info_report import write_info
from world4scorer.city.world.manifest import LogEntry, SimulationEntry
from world4scorer.cli.console_tables import print_city
from world4scorer.datasets.navsim.map_files import MAP_INDEX, map_path
from world4scorer.jobs.data_folder import DataFolder

CONFIG = CityConfig(
    shares=(
        Share("city_train", "trainval", "ingolstadt", 2, 40),
        Share("city_val", "trainval", "braunschweig", 1, 10),
    ),
    cameras=("CAM_F0", "CAM_B0"),
)
NETWORK = """<net>
 <edge id=":j" function="internal"><lane id=":j_0" shape="0,0 900,0"/></edge>
 <edge id="a"><lane id="a_0" allow="pedestrian" shape="0,3 1000,3"/><lane id="a_1" disallow="tram" shape="0,0 1000,0"/>
 </edge>
 <edge id="b"><lane id="b_0" allow="passenger bus" shape="1000,0,5.0 1000,500,5.0"/></edge>
 <edge id="c"><lane id="c_0" disallow="all" shape="0,0 0,700"/></edge>
</net>"""


def write_city(root, simulations=("ingolstadt_000", "ingolstadt_001", "braunschweig_000"), complete=True):
    """What `make_city` leaves behind, with empty files where nobody looks inside."""
    layout = DataFolder(root)
    manifest = {"config": json.loads(json.dumps(asdict(CONFIG))), "complete": complete}
    if complete:
        manifest |= {"attribution": "Streets: somebody", "simulations": list(simulations)}
        for split in ("city_train", "city_val"):
            touch(root / "config" / "train_test_split" / f"{split}.yaml")
    notes.write_manifest(root, manifest)
    locations = ("de-ingolstadt", "de-braunschweig")
    touch(layout.maps / MAP_INDEX, json.dumps({name: {"version": "1.0"} for name in locations}))
    for name in locations:
        touch(map_path(layout.maps, name))
    for network in ("ingolstadt", "braunschweig"):
        touch(layout.city_network(network), NETWORK)
    for simulation in simulations:
        place = simulation.split("_")[0]
        log = LogEntry(
            name=f"{simulation}_v1_00100",
            vehicle="v1",
            first_step=100,
            frames=3,
            weather_seed=7,
            route=["a"],
            tokens=["0" * 16, "1" * 16],
            situations={"frames": 2, "left_turn": 1, "near_agent": 2},
        )
        split = "city_train" if place == "ingolstadt" else "city_val"
        notes.write_simulation(root, SimulationEntry(simulation, place, split, "trainval", 1, [log]))
        touch(layout.log("trainval", log.name))
        for camera in CONFIG.cameras:
            for number in range(3):
                touch(layout.sensors("trainval") / log.name / camera / f"{number}.jpg", "jpeg")


def touch(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_finished_city(tmp_path):
    write_city(tmp_path)
    info = city_info(tmp_path)
    assert info.complete and info.missing == () and info.state == "complete"
    assert info.preset is None and info.attribution == "Streets: somebody"
    train, val = info.splits
    assert (train.logs, train.frames, train.decisions, train.decisions_wanted) == (2, 6, 4, 40)
    assert (train.simulations, train.simulations_wanted, val.simulations) == (2, 2, 1)
    assert train.share("left_turn") == 0.5 and train.share("near_agent") == 1.0 and train.share("queue") == 0.0
    assert sum(train.weather.values()) == 6
    assert info.size["images"] == 3 * 2 * 3 * len("jpeg")
    assert [place.network_km for place in info.places] == [1.5, 1.5]


def test_an_interrupted_city_tells_what_is_missing(tmp_path):
    write_city(tmp_path, simulations=("ingolstadt_001",), complete=False)
    log = "ingolstadt_001_v1_00100"
    os.remove(DataFolder(tmp_path).log("trainval", log))
    os.remove(DataFolder(tmp_path).sensors("trainval") / log / "CAM_B0" / "2.jpg")
    os.remove(map_path(DataFolder(tmp_path).maps, "de-braunschweig"))
    DataFolder(tmp_path).city_network("braunschweig").unlink()
    info = city_info(tmp_path)
    assert not info.complete and info.state.startswith("INCOMPLETE: map de-braunschweig; ")
    assert "2 simulations are not done (ingolstadt_000, braunschweig_000)" in info.missing
    assert f"1 logs ({log})" in info.missing and f"1 logs without all images ({log})" in info.missing
    assert "2 split files (city_train, city_val)" in info.missing
    assert info.places[1].network_km is None
    assert info.splits[1].decisions == 0 and info.splits[1].share("queue") == 0.0
    assert "OpenStreetMap" in info.attribution and "German Aerospace Center" in info.attribution
    page = io.StringIO()
    print_city(info, Console(file=page, width=200))
    assert "1 of 2" in page.getvalue() and "INCOMPLETE" in page.getvalue()


def test_a_city_whose_last_step_was_interrupted(tmp_path):
    write_city(tmp_path)
    values = notes.read_manifest(tmp_path)
    notes.write_manifest(tmp_path, {**values, "complete": False})
    assert city_info(tmp_path).missing == ("the manifest is not finished",)


def test_a_city_that_has_only_begun(tmp_path):
    config = json.loads(json.dumps(asdict(preset("tiny"))))
    notes.write_manifest(tmp_path, {"config": config, "complete": False})
    info = city_info(tmp_path)
    assert info.preset == "tiny" and not info.complete and sum(info.size.values()) > 0


def test_terminal(tmp_path, capsys):
    write_city(tmp_path)
    print_city(city_info(tmp_path))
    text = capsys.readouterr().out
    for word in ("ingolstadt", "city_val", "left turn", "50.0%", "settings of its own", "complete", "rain"):
        assert word in text


def test_files(tmp_path):
    write_city(tmp_path)
    info = city_info(tmp_path)
    write_info(info, tmp_path / "out" / "info.json")
    values = json.loads((tmp_path / "out" / "info.json").read_text())
    assert values["complete"] and values["splits"][0]["situations"]["left_turn"] == 2
    assert values["bytes"] == sum(info.size.values())
    write_info(info, tmp_path / "out" / "info.md")
    text = (tmp_path / "out" / "info.md").read_text()
    assert "| left turn | 50.0% | 50.0% |" in text
    assert all(flag.replace("_", " ") in text for flag in SITUATIONS)
    with pytest.raises(CityError, match=r"choose .json or .md"):
        write_info(info, tmp_path / "out" / "info.csv")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["info.json", "info.md"]


def test_not_a_city(tmp_path):
    with pytest.raises(CityError, match="is no city"):
        city_info(tmp_path)
    notes.write_manifest(tmp_path, {"config": {"shares": [], "cameras": [], "colour": 1}})
    with pytest.raises(CityError, match="does not know"):
        city_info(tmp_path)


def test_length_of_streets(tmp_path):
    path = tmp_path / "n.net.xml"
    path.write_text(NETWORK)
    assert street_km(path, (0.0, -10.0, 600.0, 10.0)) == pytest.approx((1.5, 0.6))
    broken = tmp_path / "b.net.xml"
    broken.write_text("<net><edge>")
    with pytest.raises(CityError, match="not a readable SUMO network"):
        street_km(broken, (0.0, 0.0, 1.0, 1.0))
