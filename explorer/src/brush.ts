// A brush: a rectangle in the plane of the states. Plans outside it fade in every view.

import type { App, Shown } from "./app.ts";
import { parseNumbers } from "./state.ts";

export const FADED = 0.12;
/** Half the side of the brush that a key puts around a plan; the plane is -1..1. */
const KEY_REACH = 0.25;

export interface Point {
  x: number;
  y: number;
}

export interface Brush {
  left: number;
  low: number;
  right: number;
  high: number;
}

export function parseBrush(text: string): Brush | null {
  const numbers = parseNumbers(text, 4);
  if (!numbers) return null;
  const [left, low, right, high] = numbers as [number, number, number, number];
  return { left, low, right, high };
}

/** The brush with two opposite corners, as the state holds it. */
export function brushBetween(one: Point, other: Point): string {
  const [left, right] = [Math.min(one.x, other.x), Math.max(one.x, other.x)];
  const [low, high] = [Math.min(one.y, other.y), Math.max(one.y, other.y)];
  return [left, low, right, high].map((value) => value.toFixed(3)).join(",");
}

/** A brush around the state of a plan; empty where states are not known. */
export function brushAround(shown: Shown, plan: number): string {
  const { states } = shown.scene;
  if (!states) return "";
  const [x, y] = [states[2 * plan]!, states[2 * plan + 1]!];
  return brushBetween({ x: x - KEY_REACH, y: y - KEY_REACH }, { x: x + KEY_REACH, y: y + KEY_REACH });
}

/** Opacity of each plan of a frame. */
export function opacities(app: App, shown: Shown): Float64Array {
  const brush = shown.run === app.state.run ? parseBrush(app.state.brush) : null;
  const { states } = shown.scene;
  const visible = new Float64Array(shown.table.plans).fill(1);
  if (!brush || !states) return visible;
  return visible.map((_, plan) => {
    const [x, y] = [states[2 * plan]!, states[2 * plan + 1]!];
    return x >= brush.left && x <= brush.right && y >= brush.low && y <= brush.high ? 1 : FADED;
  });
}
