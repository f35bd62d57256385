"""Names of files and folders below a dataset folder (`OPENSCENE_DATA_ROOT`): NAVSIM's layout, and what is made from it.

    DATA/navsim_logs/FOLDER/LOG.pkl     logs; a folder of logs is what split files call `data_split`
    DATA/sensor_blobs/FOLDER/           images; paths in logs are relative to this folder
    DATA/maps/                          maps
    DATA/config/train_test_split/       split files
    DATA/SPLIT/                         two-stage splits: second-stage scenes and their images
    DATA/store/SPLIT/                   scene stores
    DATA/bank/SPLIT/                    candidate banks
    DATA/targets/SPLIT-WHEN.arrow       future targets
    DATA/features/ENCODER/SPLIT/        features of a frozen encoder, by its digest
    DATA/dense/SPLIT/SIMULATION.arrow   views with dense labels, for pretraining
    DATA/suites/NAME/                   streets and traffic of a suite of closed-loop routes
    DATA/city/                          what only a dataset of the embedded city has: networks, trips, manifest

Names only: nothing is opened here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def split_name(split: str) -> str:
    """Name of a split that is given by name or by its YAML file."""
    return Path(split).stem if split.endswith((".yaml", ".yml")) else split


@dataclass(frozen=True)
class DataFolder:
    """Paths below a dataset folder. Splits may be given by name or by their YAML files."""

    root: Path

    @property
    def maps(self) -> Path:
        """Map folder."""
        return self.root / "maps"

    @property
    def all_logs(self) -> Path:
        """Parent of all folders of logs."""
        return self.root / "navsim_logs"

    def logs(self, data_split: str) -> Path:
        """Folder with one pickle per log."""
        return self.all_logs / data_split

    def log(self, data_split: str, name: str) -> Path:
        """A log pickle."""
        return self.logs(data_split) / f"{name}.pkl"

    def find_log(self, name: str) -> list[Path]:
        """Pickles of a log in all folders of logs; more than one if its name alone does not tell."""
        return sorted(self.all_logs.glob(f"*/{name}.pkl"))

    @property
    def all_sensors(self) -> Path:
        """Parent of all folders of images."""
        return self.root / "sensor_blobs"

    def sensors(self, data_split: str) -> Path:
        """Folder that image paths are relative to."""
        return self.all_sensors / data_split

    def synthetic_scenes(self, split: str) -> Path:
        """Second-stage scenes of a two-stage split, one pickle each."""
        return self.root / split_name(split) / "synthetic_scene_pickles"

    def synthetic_sensors(self, split: str) -> Path:
        """Folder that image paths of second-stage scenes are relative to."""
        return self.root / split_name(split) / "sensor_blobs"

    @property
    def config(self) -> Path:
        """Configuration folder."""
        return self.root / "config"

    @property
    def splits(self) -> Path:
        """Folder of split files."""
        return self.config / "train_test_split"

    @property
    def stores(self) -> Path:
        """Parent of the scene stores."""
        return self.root / "store"

    def store(self, split: str) -> Path:
        """Scene store of a split."""
        return self.stores / split_name(split)

    def bank(self, split: str) -> Path:
        """Candidate bank of a split."""
        return self.root / "bank" / split_name(split)

    def targets(self, split: str, when: str) -> Path:
        """Future targets of a split; `when` is the frame they are taken from, `future` or `current`."""
        return self.root / "targets" / f"{split_name(split)}-{when}.arrow"

    def all_features(self, encoder: str) -> Path:
        """Cached features of all splits, by the digest of the encoder."""
        return self.root / "features" / encoder

    def features(self, encoder: str, split: str) -> Path:
        """Cached features of a split, by the digest of the encoder."""
        return self.all_features(encoder) / split_name(split)

    @property
    def dense(self) -> Path:
        """Folder of views with dense labels."""
        return self.root / "dense"

    def dense_views(self, split: str, simulation: str) -> Path:
        """Views with dense labels of a simulation."""
        return self.dense / split / f"{simulation}.arrow"

    def suite(self, name: str) -> Path:
        """Dataset folder of a suite of closed-loop routes: streets and traffic, no logs."""
        return self.root / "suites" / name

    @property
    def city(self) -> Path:
        """Folder that only a dataset of the embedded city has."""
        return self.root / "city"

    @property
    def city_manifest(self) -> Path:
        """Configuration and contents of the city."""
        return self.city / "city.json"

    @property
    def is_city(self) -> bool:
        """Whether this is a dataset of the embedded city."""
        return self.city_manifest.is_file()

    def city_network(self, name: str) -> Path:
        """A SUMO network."""
        return self.city / "networks" / f"{name}.net.xml"

    def city_simulation(self, name: str) -> Path:
        """Record of a finished simulation: its logs and where they come from."""
        return self.city / "simulations" / f"{name}.json"

    def city_drives(self, split: str) -> Path:
        """Folder with a record of each log of a split of drives."""
        return self.city / "drives" / split_name(split)

    def city_drive(self, split: str, log: str) -> Path:
        """Record of a drive that was written as a log: who drove, along which route."""
        return self.city_drives(split) / f"{log}.json"

    def find_city_drive(self, log: str) -> Path | None:
        """Record of a drive in any split of drives, by the name of its log."""
        return next(iter(sorted((self.city / "drives").glob(f"*/{log}.json"))), None)

    def city_trips(self, simulation: str) -> Path:
        """SUMO trips of a simulation."""
        return self.city / "simulations" / f"{simulation}.rou.xml"
