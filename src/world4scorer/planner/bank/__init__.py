"""Candidate banks: perturbed plans with their outcomes, and how training draws from them."""

from world4scorer.planner.bank.candidate_bank import BankError, BankSample, BankSampleBatch, CandidateBank
from world4scorer.planner.bank.config import BankConfig, Family
from world4scorer.planner.bank.make import BankReport, make_bank
from world4scorer.planner.bank.published import copy_bank, label_plans
from world4scorer.planner.bank.statistics import BankStatistics, bank_statistics

__all__ = [
    "BankConfig",
    "BankError",
    "BankReport",
    "BankSample",
    "BankSampleBatch",
    "BankStatistics",
    "CandidateBank",
    "Family",
    "bank_statistics",
    "copy_bank",
    "label_plans",
    "make_bank",
]
