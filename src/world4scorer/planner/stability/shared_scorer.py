"""The analysed part of the network: phi, P, H and g as one function of their parameters, all else fixed.

theta holds the action encoder, with plan sampling also the layer that turns what was read into an addition to queries,
the predictor, the score heads and the visual readout. Scene tokens, the encoded ego state, plans, and what the views
show where plans lead are computed once. So the layers that make the maps to read from (`PlanSampling.reduce`, `.fine`)
are fixed like the encoder they stand behind: the future's loss reaches neither.

Shapes: B scenes, N plans of a call, T poses, S scene tokens, D width, F numbers read for a plan, E features of the
future, P parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from world4scorer.planner.model.encoded import Ego, SceneFeatures
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.model.scorer import ActionEncoder, Predictor, ScoreHeads

Reading = Literal["logits", "view"]
"""Output of a call: six logits per plan, or the direction of the future read from a single plan."""


@dataclass(frozen=True, eq=False)
class ScorerCall:
    """The fixed side of some calls of the predictor, one for each scene: plans of a call see each other."""

    plans: Tensor
    """(B, N, T, 3)"""
    read: Tensor | None
    """(B, N, F) what plan sampling read, where the model has it"""
    tokens: Tensor
    """(B, S, D)"""
    ego: Tensor
    """(B, D)"""

    def __len__(self) -> int:
        return len(self.plans)

    def at(self, indices: slice | Tensor) -> ScorerCall:
        """Calls of some scenes."""
        read = None if self.read is None else self.read[indices]
        return ScorerCall(self.plans[indices], read, self.tokens[indices], self.ego[indices])


class _Parts(nn.Module):
    """The varied parts, as one module."""

    def __init__(
        self,
        phi: ActionEncoder,
        sampled: nn.Linear | None,
        predictor: Predictor,
        heads: ScoreHeads,
        g: nn.Linear | None,
    ) -> None:
        super().__init__()
        self.action_encoder, self.sampled, self.predictor, self.heads, self.readout = phi, sampled, predictor, heads, g

    @classmethod
    def of(cls, network: Network) -> _Parts:
        """Modules of a network, shared with it."""
        sampled = network.plan_sampling.out if network.plan_sampling is not None and network.config.images else None
        return cls(network.action_encoder, sampled, network.predictor, network.heads, network.readout)

    def forward(self, call: ScorerCall, reading: Reading) -> Tensor:
        """Logits (B, N, 6), or directions (B, E) of the futures of calls with one plan."""
        queries = self.action_encoder(call.plans, call.ego)
        if self.sampled is not None:
            queries = queries + self.sampled(call.read)
        states = self.predictor(queries, call.tokens)
        if reading == "logits":
            return self.heads.logits(states, call.ego)
        assert self.readout is not None
        future = self.readout(states[:, 0])
        unit: Tensor = future / future.norm(dim=-1, keepdim=True)
        return unit


class SharedScorer:
    """The scoring half of a network as a function of a flat vector of parameters."""

    def __init__(
        self, network: Network, dtype: torch.dtype = torch.float32, varied: Callable[[str], bool] | None = None
    ) -> None:
        """A copy in the given precision; `varied` restricts theta to the parameters whose names it accepts."""
        self.network = network
        self._parts = copy.deepcopy(_Parts.of(network)).to(dtype).eval().requires_grad_(False)
        self._fixed = dict(self._parts.named_parameters())
        names = [name for name in self._fixed if varied is None or varied(name)]
        if not names:
            raise ValueError("varied: no parameter of the scorer is left to vary")
        self._shapes = {name: self._fixed.pop(name).shape for name in names}
        kept = dict(self._parts.named_parameters())
        self.theta = torch.cat([kept[name].flatten() for name in names])
        """(P,) as fitted"""

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the analysis."""
        return self.theta.dtype

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the varied tensors, in the order of theta."""
        return tuple(self._shapes)

    def belongs_to(self, network: Network) -> bool:
        """Whether a network has the parameters that this was made from."""
        own, theirs = self._parts.state_dict(), _Parts.of(network).state_dict()
        return own.keys() == theirs.keys() and all(torch.equal(own[name], theirs[name].to(self.dtype)) for name in own)

    @torch.no_grad()
    def call(self, plans_BNT3: Tensor, scene: SceneFeatures, ego: Ego, cameras: Cameras | None = None) -> ScorerCall:
        """The calls that score plans of scenes, with all that does not depend on theta computed."""
        read = None
        if self._parts.sampled is not None:
            if cameras is None or scene.readable is None:
                raise ValueError("cameras: missing; a model with plan sampling needs to know how the views were taken")
            read = self.network.read_along(plans_BNT3, scene, ego, cameras).to(self.dtype)
        fixed = (part.detach().to(self.dtype) for part in (plans_BNT3, scene.tokens, ego.encoded))
        plans, tokens, encoded = fixed
        return ScorerCall(plans, read, tokens, encoded)

    def observe(self, theta_P: Tensor, call: ScorerCall, reading: Reading) -> Tensor:
        """Logits (B, N, 6) or directions (B, E) at other parameters."""
        given = dict(self._unflattened(theta_P))
        # The fused kernels of attention have no forward derivatives; the written-out one has all of them.
        with sdpa_kernel(SDPBackend.MATH):
            observed: Tensor = functional_call(self._parts, {**self._fixed, **given}, (call, reading))
        return observed

    def check_futures(self, call: ScorerCall) -> None:
        """Raise a ValueError unless the future is read, and has a direction, in every one of these calls."""
        if self._parts.readout is None:
            raise ValueError("this model was built without a visual readout (config.readout is False)")
        if not self.observe(self.theta, call, "view").isfinite().all():
            raise ValueError("futures: one of them is read as zero, so that it has no direction")

    def _unflattened(self, theta_P: Tensor) -> Iterator[tuple[str, Tensor]]:
        parts = theta_P.split([shape.numel() for shape in self._shapes.values()])
        for (name, shape), part in zip(self._shapes.items(), parts, strict=True):
            yield name, part.view(shape)
