// Lines and boxes in metres, with widths in pixels.

import type { Pose } from "./scenes.ts";
import type { Viewport } from "./viewport.ts";

/** A line through poses; width and dashes in pixels. */
export function line(
  context: CanvasRenderingContext2D, port: Viewport, poses: Pose[], colour: string, width: number, dashes: number[] = [],
): void {
  context.strokeStyle = colour;
  context.lineWidth = width / port.scale;
  context.lineJoin = "round";
  context.setLineDash(dashes.map((length) => length / port.scale));
  context.beginPath();
  for (const { x, y } of poses) context.lineTo(x, y);
  context.stroke();
  context.setLineDash([]);
}

/** The outline of a box around a pose as the context's path. */
export function box(context: CanvasRenderingContext2D, pose: Pose, front: number, rear: number, side: number): void {
  const [c, s] = [Math.cos(pose.heading), Math.sin(pose.heading)];
  context.beginPath();
  for (const [ahead, beside] of [[front, side], [-rear, side], [-rear, -side], [front, -side]] as const) {
    context.lineTo(pose.x + ahead * c - beside * s, pose.y + ahead * s + beside * c);
  }
  context.closePath();
}
