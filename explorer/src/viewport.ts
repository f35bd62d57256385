// From metres in the ego frame to pixels: zoom, pan, forward to the right or up.

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
    const [x, y, scale] = text.split(",").map(Number);
    if (x === undefined || y === undefined || scale === undefined) return null;
    return [x, y, scale].every(Number.isFinite) && scale > 0 ? { x, y, scale } : null;
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

  toScreen(x: number, y: number): { x: number; y: number } {
    const [ahead, left] = [(x - this.middle.x) * this.scale, (y - this.middle.y) * this.scale];
    const [across, down] = this.up ? [-left, -ahead] : [ahead, -left];
    return { x: this.width / 2 + across, y: this.height / 2 + down };
  }

  /** The view after zooming around a point of the screen, as the state holds it. */
  zoomed(factor: number, across: number, down: number): string {
    const scale = Math.min(Math.max(this.scale * factor, MIN_SCALE), MAX_SCALE);
    const rest = 1 - this.scale / scale;
    return this.shifted((across - this.width / 2) * rest, (down - this.height / 2) * rest, scale);
  }

  /** The view after dragging by pixels. */
  panned(across: number, down: number): string {
    return this.shifted(-across, -down, this.scale);
  }

  private shifted(across: number, down: number, scale: number): string {
    const [ahead, left] = this.up ? [-down, -across] : [across, -down];
    const x = this.middle.x + ahead / this.scale;
    const y = this.middle.y + left / this.scale;
    return [x, y, scale].map((value) => value.toFixed(2)).join(",");
  }
}
