// Reasons of the explained plan's zeros, marked at their steps and objects, with numbers.

import type { App, Shown } from "./app.ts";
import { LOCATED_METRICS, TRACK_METRICS } from "./reasons.ts";
import type { Cause } from "./scenes.ts";
import { box } from "./strokes.ts";
import type { Viewport } from "./viewport.ts";

const NUMBER_GAP = 26;

/** Outline what caused each fault; the context draws in metres of the ego frame. */
export function drawFaults(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, app: App): void {
  const causes = shown.scene.causes[shown.plan]!;
  const rollout = shown.scene.rollouts[shown.plan]!;
  const { fault, paper } = app.colours;
  const [front, rear, side] = app.model.catalogue.ego_box;
  const places = causes.map((cause) => {
    const pose = rollout[Math.min(Math.max(cause.step, 0), rollout.length - 1)]!;
    const ahead = (front - rear) / 2;
    const at = { x: pose.x + ahead * Math.cos(pose.heading), y: pose.y + ahead * Math.sin(pose.heading) };
    context.strokeStyle = fault;
    if (LOCATED_METRICS.includes(cause.metric)) {
      context.lineWidth = 1.6 / port.scale;
      box(context, pose, front, rear, side);
      context.stroke();
    }
    drawObject(context, port, shown, cause);
    context.beginPath();
    context.arc(at.x, at.y, 4 / port.scale, 0, 2 * Math.PI);
    context.fillStyle = fault;
    context.fill();
    context.lineWidth = 1.2 / port.scale;
    context.strokeStyle = paper;
    context.stroke();
    return at;
  });
  drawNumbers(context, port, places, fault, app.colours.dark ? "#000000" : "#ffffff");
}

function drawObject(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, cause: Cause): void {
  if (cause.index < 0) return;
  const { scene, scenes } = shown;
  context.save();
  context.rotate(-scene.ego.heading);
  context.translate(-scene.ego.x, -scene.ego.y);
  context.lineWidth = 2.6 / port.scale;
  if (TRACK_METRICS.includes(cause.metric)) {
    const track = scene.tracks[cause.index];
    const pose = track?.poses[Math.max(cause.step, 0)];
    if (track && pose) {
      box(context, pose, track.length / 2, track.length / 2, track.width / 2);
      context.stroke();
    }
  } else if (cause.metric === "TLC") {
    const shape = scenes.map[scene.lights[cause.index]?.polygon ?? -1];
    if (shape) context.stroke(shape.path);
  }
  context.restore();
}

/** Numbers in a row above the places, each with a line to its own. */
function drawNumbers(
  context: CanvasRenderingContext2D, port: Viewport, places: { x: number; y: number }[], colour: string, ink: string,
): void {
  if (!places.length) return;
  const points = places.map(({ x, y }, number) => ({ ...port.toScreen(x, y), number: number + 1 }));
  const row = [...points].sort((a, b) => a.x - b.x);
  const top = Math.max(Math.min(...points.map(({ y }) => y)) - 2.2 * NUMBER_GAP, NUMBER_GAP);
  let across = -Infinity;
  context.save();
  const finer = window.devicePixelRatio || 1;
  context.setTransform(finer, 0, 0, finer, 0, 0);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = "bold 13px system-ui, sans-serif";
  for (const point of row) {
    across = Math.max(across + NUMBER_GAP, point.x);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(across, top);
    context.lineTo(point.x, point.y);
    context.stroke();
    context.beginPath();
    context.arc(across, top, 10, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = ink;
    context.fillText(String(point.number), across, top + 1);
  }
  context.restore();
}
