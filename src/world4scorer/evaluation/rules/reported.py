"""A score as a paper or a leaderboard prints it, compared within its rounding."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

SLACK: Final = 1e-9
"""Differences up to this come from the order of floating-point operations; in the printed unit."""


@dataclass(frozen=True)
class ReportedScore:
    """A printed number; above 1 it is in percent."""

    text: str
    value: float
    rounding: float
    """Half a unit of its last printed digit."""

    @classmethod
    def parse(cls, text: str) -> ReportedScore:
        """Read a number with its digits: 51.5 and 51.50 are rounded differently."""
        cleaned = text.strip().removesuffix("%").strip()
        try:
            number = Decimal(cleaned)
            exponent = number.as_tuple().exponent
        except InvalidOperation:
            number, exponent = Decimal("NaN"), "n"
        if not isinstance(exponent, int) or not 0 <= number <= 100:
            raise ValueError(f"--score {text}: give a score as printed, such as 51.5 (percent) or 0.515")
        return cls(cleaned, float(number), 0.5 * 10.0**exponent)

    def difference(self, score: float) -> float:
        """How far a score of 0..1 lies from it, in the printed unit."""
        return score * (100.0 if self.value > 1.0 else 1.0) - self.value

    def matches(self, score: float) -> bool:
        """Whether a score of 0..1, printed with as many digits, may be this number."""
        return abs(self.difference(score)) <= self.rounding + SLACK
