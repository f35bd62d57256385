"""Freeze the routes of City-220: make its traffic, search it, and write routes and manifest that the package ships.

    python benchmarks/city_220.py --data city

Only for a change of the benchmark itself: results on other routes are not comparable.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from world4scorer.city.world.manifest import read_manifest
from world4scorer.driving.closed_loop.route_files import frozen_content, read_routes
from world4scorer.driving.closed_loop.suites import SUITES, suite_manifest, suite_routes
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import as_executor
from world4scorer.jobs.files import atomic_write, write_json


def main() -> None:
    """Search and freeze."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="dataset folder; the traffic goes to DATA/suites")
    parser.add_argument("--workers", type=int, help="processes; one for each core unless given")
    given = parser.parse_args()
    suite = SUITES["city-220"]
    assert suite.manifest is not None and suite.frozen_routes is not None
    start = time.monotonic()
    routes = suite_routes(replace(suite, manifest=None), given.data, as_executor(given.workers))
    versions = read_manifest(DataFolder(given.data).suite(suite.name))["versions"]
    made_with = {name: versions[name] for name in ("eclipse-sumo", "libsumo")}
    with atomic_write(suite.frozen_routes) as stream:
        stream.write(frozen_content(routes))
    routes = read_routes(suite.frozen_routes)
    write_json(suite.manifest, suite_manifest(suite, routes, made_with))
    print(f"{len(routes)} routes, {sum(route.route.length for route in routes) / 1000:.1f} km, ", end="")
    print(f"{sum(route.seconds for route in routes) / 60:.0f} min of SUMO's driving, {time.monotonic() - start:.0f} s")
    for what in ("place", "scenario"):
        print(", ".join(f"{name} {count}" for name, count in Counter(getattr(r, what) for r in routes).items()))
    print(f"written: {suite.manifest}, {suite.frozen_routes}")


if __name__ == "__main__":
    main()
