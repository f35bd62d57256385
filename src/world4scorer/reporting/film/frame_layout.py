"""Layout of film frames: title, cameras, bird's-eye view, dashboard and legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw, ImageFont, ImageOps

from world4scorer.datasets.navsim.cameras import CAMERA_LABELS
from world4scorer.datasets.navsim.frames import COMMANDS
from world4scorer.drawing import style
from world4scorer.reporting.film.canvas import PER_POINT
from world4scorer.reporting.film.fonts import load_font

HAIRLINE: Final = "#d9d8d3"
CAMERA_ASPECT: Final = 16 / 9
"""Aspect ratio to which camera images are cropped."""
VIEW_ASPECT: Final = 0.82
"""Aspect ratio of the bird's-eye view."""
REFERENCE_HEIGHT: Final = 720
"""Frame height for which the sizes below are given [pixels]."""
MARGIN: Final = 14
"""Margin around all parts [pixels]."""
TITLE_HEIGHT: Final = 40
"""Height of the line on top [pixels]."""
DASHBOARD_HEIGHT: Final = 54
"""Height of the dashboard below the bird's-eye view, without its legend [pixels]."""

LABEL_SHADE: Final = 150
"""Opacity of camera labels, of 255."""
COMMAND_SIGNS: Final = ("\u21b0", "\u2191", "\u21b1", "?")
"""Arrows in the order of `COMMANDS`."""
LEGEND: Final = (("vehicle", "bicycle", "pedestrian", "object"), ("route", "past", "human", "stop line"))
"""Entries of the style's legend, row by row."""
LEGEND_WITH_PLANS: Final = (*LEGEND, ("choice", "framewise", "plans"))
LEGEND_ROW_HEIGHT: Final = 21
"""Height of a legend row [pixels]."""

Box = tuple[int, int, int, int]
"""Left, top, right, bottom [pixels]."""


@dataclass(frozen=True)
class FrameLayout:
    """Boxes of the parts of a frame."""

    size: tuple[int, int]
    """Width, height [pixels], both even, as video needs it."""
    title: Box
    cameras: dict[str, Box]
    view: Box
    dashboard: Box
    legend: tuple[tuple[str, ...], ...] = LEGEND
    """Entries of the style's legend, row by row."""

    @classmethod
    def of(cls, height: int, cameras: Sequence[str], legend: tuple[tuple[str, ...], ...] = LEGEND) -> FrameLayout:
        """Layout for a height [pixels]: the first camera large, up to three others below it."""
        unit = height / REFERENCE_HEIGHT
        margin, title = round(MARGIN * unit), round(TITLE_HEIGHT * unit)
        dashboard = round((DASHBOARD_HEIGHT + LEGEND_ROW_HEIGHT * len(legend)) * unit)
        top, low = margin + title, height - margin
        boxes: dict[str, Box] = {}
        left = margin
        if cameras:
            gap = margin if len(cameras) > 1 else 0
            # A row of three below: their frames and the gaps between them are as wide as the large one.
            third = 1 / 3 if len(cameras) > 1 else 0.0
            width = round((low - top - gap + 2 * gap * third / CAMERA_ASPECT) * CAMERA_ASPECT / (1 + third))
            large = round(width / CAMERA_ASPECT)
            boxes[cameras[0]] = (left, top, left + width, top + large)
            small = (width - 2 * gap) / 3
            for index, name in enumerate(cameras[1:]):
                begin = left + round(index * (small + gap))
                end = left + round(index * (small + gap) + small)
                boxes[name] = (begin, top + large + gap, end, low)
            left += width + margin
        view_height = low - top - dashboard
        right = left + round(view_height * VIEW_ASPECT)
        right -= (right + margin) % 2
        return cls(
            size=(right + margin, height),
            title=(margin, margin, right, top),
            cameras=boxes,
            view=(left, top, right, top + view_height),
            dashboard=(left, top + view_height, right, low),
            legend=legend,
        )


@dataclass(frozen=True)
class FramePainter:
    """Draws the parts of a frame."""

    page: FrameLayout
    name: str
    """Title: name of the log."""
    note: str
    """Location and map credit."""

    @property
    def _unit(self) -> float:
        return self.page.size[1] / REFERENCE_HEIGHT

    def background(self, images: dict[str, Image.Image | None]) -> Image.Image:
        """Title and cameras, which change only with log frames; None is a missing image."""
        background = Image.new("RGB", self.page.size, style.PAPER)
        brush = ImageDraw.Draw(background)
        left, top, right, low = self.page.title
        middle = (top + low - round(MARGIN * self._unit)) / 2
        brush.text((left, middle), self.name, style.INK, self._font(17, bold=True), anchor="lm")
        brush.text((right, middle), self.note, style.FAINT, self._font(14), anchor="rm")
        for name, image in images.items():
            self._put_camera(background, brush, name, image)
        return background

    def paste_view(self, background: Image.Image, view: Image.Image) -> None:
        """Paste the bird's-eye view."""
        background.paste(view, self.page.view[:2])

    def draw_dashboard(
        self,
        background: Image.Image,
        time: float,
        duration: float,
        speed: float,
        command: int,
        faults: Iterable[float] = (),
    ) -> None:
        """Draw speed [m/s], command, time and duration [s], progress bar with marks at `faults` [s], legend."""
        unit, brush = self._unit, ImageDraw.Draw(background)
        left, top, right, _ = self.page.dashboard
        brush.rectangle((left, top, right - 1, top + round(3 * unit)), HAIRLINE)
        passed = 1.0 if duration <= 0 else min(time / duration, 1.0)
        brush.rectangle((left, top, left + round((right - 1 - left) * passed), top + round(3 * unit)), style.EGO)
        for fault in faults:
            at = left + round((right - 1 - left) * fault / max(duration, 1e-9))
            brush.rectangle((at - round(1.5 * unit), top, at + round(1.5 * unit), top + round(7 * unit)), style.FAULT)
        base = top + round(44 * unit)
        self._numbers(brush, (left, base), f"{speed * 3.6:.0f}", "km/h", "ls")
        self._command(brush, (left + right) / 2, base, command)
        self._numbers(brush, (right, base), f"{time:.1f}", f"/ {duration:.1f} s", "rs")
        self._draw_legend(brush)

    def _numbers(
        self, brush: ImageDraw.ImageDraw, place: tuple[float, float], value: str, unit: str, anchor: str
    ) -> None:
        large, small = self._font(26, bold=True), self._font(14)
        gap = 6 * self._unit
        if anchor == "ls":
            brush.text(place, value, style.INK, large, anchor="ls")
            brush.text((place[0] + large.getlength(value) + gap, place[1]), unit, style.FAINT, small, anchor="ls")
        else:
            brush.text(place, unit, style.FAINT, small, anchor="rs")
            brush.text((place[0] - small.getlength(unit) - gap, place[1]), value, style.INK, large, anchor="rs")

    def _command(self, brush: ImageDraw.ImageDraw, middle: float, base: float, command: int) -> None:
        sign, word = COMMAND_SIGNS[command], COMMANDS[command]
        large, small = self._font(26, bold=True), self._font(14)
        gap = 8 * self._unit
        left = middle - (large.getlength(sign) + gap + small.getlength(word)) / 2
        brush.text((left, base), sign, style.INK, large, anchor="ls")
        brush.text((left + large.getlength(sign) + gap, base), word, style.FAINT, small, anchor="ls")

    def _draw_legend(self, brush: ImageDraw.ImageDraw) -> None:
        """Draw the legend below the dashboard."""
        left, top, right, _ = self.page.dashboard
        unit = self._unit
        for row, names in enumerate(self.page.legend):
            y = top + (67 + LEGEND_ROW_HEIGHT * row) * unit
            for column, name in enumerate(names):
                x = left + (right - left) * column / len(names)
                self._draw_mark(brush, x, y, style.LEGEND[name])
                line_width = 25 if style.LEGEND[name].shape in ("line", "ramp") else 19
                brush.text((x + line_width * unit, y), style.LEGEND[name].word, style.INK, self._font(12), anchor="lm")

    def _draw_mark(self, brush: ImageDraw.ImageDraw, x: float, y: float, entry: style.LegendEntry) -> None:
        unit, look = self._unit, entry.look
        if isinstance(look, style.Stroke):
            width = max(1, round(look.width * PER_POINT * unit))
            drawn, left_out = look.dashes or (1e3, 0.0)
            at = 0.0
            while at < 20 * unit:
                end = min(at + drawn * width, 20 * unit)
                brush.line((x + at, y, x + end, y), look.colour, width)
                at += (drawn + left_out) * width
            if look.dots:
                radius = look.dots * PER_POINT * unit / 2
                brush.ellipse((x + 10 * unit - radius, y - radius, x + 10 * unit + radius, y + radius), look.colour)
        elif not isinstance(look, str):
            colours = style.utility_colours(range(20))
            for i, colour in enumerate(colours):
                brush.rectangle((x + i * unit, y - 3 * unit, x + (i + 1) * unit, y + 3 * unit), colour)
        elif entry.shape == "round":
            brush.ellipse((x + 1 * unit, y - 5 * unit, x + 11 * unit, y + 5 * unit), look)
        else:
            brush.rectangle((x, y - 5 * unit, x + 12 * unit, y + 5 * unit), look)

    def _put_camera(
        self, background: Image.Image, brush: ImageDraw.ImageDraw, name: str, image: Image.Image | None
    ) -> None:
        left, top, right, low = self.page.cameras[name]
        if image is None:
            brush.rectangle((left, top, right - 1, low - 1), style.GROUND)
            place = ((left + right) / 2, (top + low) / 2)
            brush.text(place, "no image", style.FAINT, self._font(14), anchor="mm")
        else:
            background.paste(ImageOps.fit(image, (right - left, low - top), Image.Resampling.BICUBIC), (left, top))
        unit, font, word = self._unit, self._font(13), CAMERA_LABELS[name]
        pad = round(7 * unit)
        label = Image.new("L", (round(font.getlength(word)) + 2 * pad, round(22 * unit)), LABEL_SHADE)
        corner = (left, low - label.height)
        background.paste(Image.new("RGB", label.size, style.INK), corner, label)
        brush.text((left + pad, low - label.height / 2), word, style.PAPER, font, anchor="lm")

    def _font(self, size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
        return load_font(max(6, round(size * self._unit)), bold)
