// From metres in the ego frame to pixels: zoom, pan, forward to the right or up.

import type { Point } from "./brush.ts";
import { parseNumbers } from "./state.ts";

export interface Middle {
  x: number;
  y: number;
  /** Pixels per metre. */
  scale: number;
}

const MIN_SCALE = 0.5;
const MAX_SCALE = 200;

export class Viewport {
  constructor(
    readonly width: number,
    readonly height: number,
    private readonly middle: Middle,
    private readonly up: boolean,
  ) {}

  static parse(text: string): Middle | null {
    const [x, y, scale] = (parseNumbers(text, 3) ?? [0, 0, 0]) as [number, number, number];
    return scale > 0 ? { x, y, scale } : null;
  }

  get scale(): number {
    return this.middle.scale;
  }

  /** Let the context draw in metres of the ego frame. */
  enterEgo(context: CanvasRenderingContext2D): void {
    const { x, y, scale } = this.middle;
    context.translate(this.width / 2, this.height / 2);
    if (this.up) context.transform(0, -scale, -scale, 0, 0, 0);
    else context.transform(scale, 0, 0, -scale, 0, 0);
    context.translate(-x, -y);
  }

  toScreen(x: number, y: number): Point {
    const [ahead, left] = [(x - this.middle.x) * this.scale, (y - this.middle.y) * this.scale];
    const [across, down] = this.up ? [-left, -ahead] : [ahead, -left];
    return { x: this.width / 2 + across, y: this.height / 2 + down };
  }

  /** The view after zooming around a point of the screen, as the state holds it. */
  zoomed(factor: number, around: Point): string {
    return this.dragged(around, around, factor);
  }

  /** The view after a point of the screen was dragged to another, with a zoom around it. */
  dragged(from: Point, to: Point, factor = 1): string {
    const scale = Math.min(Math.max(this.scale * factor, MIN_SCALE), MAX_SCALE);
    const share = this.scale / scale;
    const across = from.x - this.width / 2 - (to.x - this.width / 2) * share;
    const down = from.y - this.height / 2 - (to.y - this.height / 2) * share;
    const [ahead, left] = this.up ? [-down, -across] : [across, -down];
    const x = this.middle.x + ahead / this.scale;
    const y = this.middle.y + left / this.scale;
    return [x, y, scale].map((value) => value.toFixed(2)).join(",");
  }
}
