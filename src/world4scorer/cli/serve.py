"""The verbs that let CARLA drive: the planner server, and the agent's file. Heavy imports happen inside.

w4s serve --checkpoint runs/b2d/planner --route 4 --keep-commands
w4s b2d agent --out Bench2Drive/leaderboard/team_code
"""

from __future__ import annotations

from typing import Annotated, Literal

from world4scorer.cli.arguments import Folder, MaybeCount, MaybeFile, called
from world4scorer.cli.exit_codes import WrongCommand

Weight = Annotated[float, called("WEIGHT")]
Address = Annotated[str, called("ADDRESS")]


def serve(
    checkpoint: Folder,
    socket: MaybeFile = None,
    port: MaybeCount = None,
    inertial: Weight = 0.0,
    route: Weight = 0.0,
    keep_commands: bool = False,
    benchmark: Literal["v1", "v2"] = "v1",
    fixed: bool = False,
    device: str = "cpu",
    threads: MaybeCount = None,
    quiet: bool = False,
) -> int:
    """Answer simulators on a socket: images and motion in, the chosen plan out.

    For programs that run in another Python, such as CARLA's leaderboard. Several may drive at once. Only this machine
    is listened to. Ctrl-C ends it.

    Example: w4s serve --checkpoint runs/b2d/planner --route 4 --keep-commands

    Args:
        checkpoint: Folder of a planner, or of the run that trained it.
        socket: Path of a Unix socket, which this user alone can open, instead of a port.
        port: Port on 127.0.0.1, 0 for any; 4747 unless given.
        inertial: Weight of inertial re-ranking; the paper's is 1.
        route: Weight of route re-ranking; the paper's is 4.
        keep_commands: Take commands from the nodes of the route, each until it has been passed.
        benchmark: Whose utility chooses; v2 is refused for planners trained on Bench2Drive, who lack one of its terms.
        fixed: Refuse drives that ask for another selection than this.
        device: Of torch: cpu, cuda, cuda:1, ...
        threads: Of the processor; torch's choice unless given.
        quiet: Say nothing of drives.
    """
    from world4scorer.cli.learn import needs_device, needs_torch

    needs_torch("w4s serve")
    needs_device(device)
    import torch

    from world4scorer.driving.closed_loop.pilot import PilotOptions
    from world4scorer.driving.serving import address as places
    from world4scorer.driving.serving.server import PlannerServer
    from world4scorer.driving.serving.session import NOTHING_SAID
    from world4scorer.driving.serving.start import load_served, practise

    if socket is not None and port is not None:
        raise WrongCommand("give either --socket or --port")
    if threads is not None:
        if threads < 1:
            raise WrongCommand(f"--threads {threads}: at least 1")
        torch.set_num_threads(threads)
    wanted = places.Address(port=places.DEFAULT_PORT if port is None else port, path=socket)
    served = load_served(checkpoint, PilotOptions(benchmark, inertial, route, keep_commands), fixed, device)
    with places.listening(wanted) as (listener, where):
        practise(served)
        about = served.described()
        size = f"{about['image_width']} x {about['image_height']}"
        _say(f"{where}: serving {checkpoint} ({served.digest[:12]}), {len(served.cameras)} cameras of {size}")
        PlannerServer(served, listener, NOTHING_SAID if quiet else _say).run()
    return 0


def agent(out: Folder, server: Address = "127.0.0.1:4747", overwrite: bool = False) -> int:
    """Copy the agent for CARLA's leaderboard out, with its configuration.

    One file that needs NumPy and nothing else, for Python 3.7 or newer, and a JSON file that tells it where the planner
    server is and how plans are to be chosen: with kept commands and route re-ranking.

    Example: w4s b2d agent --out Bench2Drive/leaderboard/team_code

    Args:
        out: Folder for both, such as the leaderboard's team_code.
        server: Where `w4s serve` listens: 127.0.0.1:PORT or unix:PATH.
        overwrite: Replace files that differ.
    """
    from world4scorer.driving.serving.address import Address
    from world4scorer.driving.serving.agent_file import OPTIONS, copy_agent

    for path in copy_agent(out, {"server": str(Address.parse(server)), "options": OPTIONS}, overwrite):
        print(f"written: {path}")
    return 0


def _say(line: str) -> None:
    """At once: whoever waits for the server to be ready reads the first line."""
    print(line, flush=True)
