"""Candidate banks: perturbed plans with their outcomes, and how training draws from them."""

from world4scorer.planner.bank.config import BankConfig
from world4scorer.planner.bank.family import Family
from world4scorer.planner.bank.make import MakeReport, make_bank
from world4scorer.planner.bank.pack import Drawn, DrawnBatch, Pack, PackError
from world4scorer.planner.bank.published import copy_pack, label_plans
from world4scorer.planner.bank.statistics import PackStatistics, pack_statistics

__all__ = [
    "BankConfig",
    "Drawn",
    "DrawnBatch",
    "Family",
    "MakeReport",
    "Pack",
    "PackError",
    "PackStatistics",
    "copy_pack",
    "label_plans",
    "make_bank",
    "pack_statistics",
]
