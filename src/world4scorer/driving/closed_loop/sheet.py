"""Drives in the city as rows of a sheet."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.driving.closed_loop.recording import DriveRecording
from world4scorer.driving.sheets.sheet_drive import SheetDrive, SheetFault
from world4scorer.engine.scene.indices import State
from world4scorer.evaluation.leaderboard.infractions import Infraction
from world4scorer.reporting.film.log_film import FILM_CAMERAS

ROW_SECONDS: Final = 0.1
"""s between the states of a recording."""
CAMERA: Final = FILM_CAMERAS[0]


def sheet_drive(recording: DriveRecording) -> SheetDrive:
    """A recorded drive for a sheet."""

    def frame(number: int) -> NDArray[np.uint8] | None:
        file = recording.images[number].get(CAMERA)
        return None if file is None else np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))

    return SheetDrive(
        driver=recording.driver,
        scenario=recording.scenario,
        score=recording.score,
        route=recording.points,
        times=np.asarray(ROW_SECONDS * np.arange(len(recording.states)), np.float64),
        path=recording.states[:, [State.X, State.Y]],
        frame_times=np.asarray(ROW_SECONDS * recording.decided[: len(recording.images)], np.float64),
        frame=frame,
        faults=tuple(
            SheetFault(event.kind, event.time, event.place)
            for event in recording.infractions
            if event.kind != Infraction.SLOW
        ),
    )
