// What is around the ego: map, red lights, other road users, and the infractions of a drive.

import type { Shown } from "./app.ts";
import type { Palette } from "./colours.ts";
import type { Drive, Light, Pose, Track } from "./scenes.ts";
import { box, line } from "./strokes.ts";
import type { Viewport } from "./viewport.ts";

/** Metres from which a track moves. */
const MIN_MOVEMENT = 0.5;
const LANES = ["lane", "lane_connector"];

export function drawMap(
  context: CanvasRenderingContext2D, port: Viewport, shown: Shown, colours: Palette, isRed: (light: Light) => boolean,
): void {
  const { scene, scenes } = shown;
  const hairline = 1 / port.scale;
  for (const [layer, colour] of Object.entries(colours.layers)) {
    context.fillStyle = context.strokeStyle = colour;
    context.lineWidth = hairline; // closes the gaps between neighbours
    for (const shape of scenes.map) {
      if (shape.layer !== layer) continue;
      context.fill(shape.path, "evenodd");
      context.stroke(shape.path);
    }
  }
  context.fillStyle = colours.route;
  for (const polygon of scene.route) context.fill(scenes.map[polygon]!.path, "evenodd");
  context.strokeStyle = colours.lane_edge;
  for (const shape of scenes.map) if (LANES.includes(shape.layer)) context.stroke(shape.path);
  context.strokeStyle = colours.centerline;
  context.setLineDash([6 * hairline, 5 * hairline]);
  context.beginPath();
  scene.centerline.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = hatched(context, colours.red_light, port.scale);
  for (const light of scene.lights) {
    if (light.polygon >= 0 && isRed(light)) context.fill(scenes.map[light.polygon]!.path, "evenodd");
  }
}

/** Index of a light's state at a step. */
export function statusAt(light: Light, step: number): number | undefined {
  return light.changes.filter(([from]) => from <= step).at(-1)?.[1];
}

/** Where a driver broke a rule, with a word for it; in pixels. */
export function markInfractions(
  context: CanvasRenderingContext2D, port: Viewport, ego: Pose, drive: Drive, colours: Palette,
): void {
  const [c, s] = [Math.cos(ego.heading), Math.sin(ego.heading)];
  context.font = "bold 13px system-ui, sans-serif";
  context.textAlign = "left";
  for (const [kind, time, x, y] of drive.infractions) {
    const at = port.toScreen((x - ego.x) * c + (y - ego.y) * s, (y - ego.y) * c - (x - ego.x) * s);
    const words = `${kind}, ${time.toFixed(1)} s`;
    context.strokeStyle = colours.fault;
    context.lineWidth = 3;
    context.strokeRect(at.x - 7, at.y - 7, 14, 14);
    context.strokeStyle = colours.paper;
    context.strokeText(words, at.x + 12, at.y + 4);
    context.fillStyle = colours.fault;
    context.fillText(words, at.x + 12, at.y + 4);
  }
}

export function drawTrack(
  context: CanvasRenderingContext2D, port: Viewport, track: Track, step: number, colours: Palette,
): void {
  const fill = colours.tracks[track.type] ?? colours.faint;
  const there = track.poses.filter((pose) => pose !== null);
  const [first, last] = [there[0], there.at(-1)];
  if (track.moves && first && last && Math.hypot(last.x - first.x, last.y - first.y) >= MIN_MOVEMENT) {
    context.globalAlpha = 0.7;
    line(context, port, there, fill, 1.4);
    context.globalAlpha = 1;
  }
  const pose = track.poses[step];
  if (!pose) return;
  box(context, pose, track.length / 2, track.length / 2, track.width / 2);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = colours.ink;
  context.lineWidth = 0.8 / port.scale;
  context.stroke();
}

function hatched(context: CanvasRenderingContext2D, colour: string, scale: number): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const brush = tile.getContext("2d")!;
  brush.strokeStyle = colour;
  brush.beginPath();
  brush.moveTo(-2, 10);
  brush.lineTo(10, -2);
  brush.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
  return pattern ?? colour;
}
