"""OGBench-Cube: a learned outcome score inside a frozen world model's planner.

The same idea in another domain. LeWM, a latent world model, plans by cross-entropy search: sample action sequences,
predict the latent each leads to, keep those nearest to the goal's latent. Simulator outcomes of such candidates train a
small head, and its score is added to the planning cost; world model and search budget stay as they are.
"""

from world4scorer.cube.simulator.backend import choose_backend

choose_backend()  # here, because nearly every module of this folder imports MuJoCo
