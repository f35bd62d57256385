// The 64 states in the plane of their largest spread; points and plans are highlighted together, by pointer or brush.

import type { App, View } from "./app.ts";
import { brushBetween, opacities, parseBrush, type Point } from "./brush.ts";
import { ramp } from "./colours.ts";
import { byId, DRAG_PIXELS, fitCanvas } from "./dom.ts";
import { planShares } from "./plan_values.ts";

const MARGIN = 14;
const REACH = 14;

export class StateSpace implements View {
  private readonly canvas = byId<HTMLCanvasElement>("state-space");
  private points: Point[] = [];
  private size = { width: 1, height: 1 };
  private pressed: { at: Point; brushing: boolean } | null = null;

  constructor(private readonly app: App) {
    this.canvas.addEventListener("pointerdown", (event) => {
      this.pressed = { at: { x: event.offsetX, y: event.offsetY }, brushing: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.pointerMoves(event));
    this.canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    this.canvas.addEventListener("pointercancel", () => (this.pressed = null));
    this.canvas.addEventListener("pointerleave", () => app.hover(-1));
  }

  inputs(app: App): unknown[] {
    const { active, state, hovered, colours } = app;
    return [active?.scene, active?.plan, active?.chosen, hovered, state.colour, state.utility, state.brush, colours];
  }

  update(app: App): void {
    const shown = app.active;
    const states = shown?.scene.states;
    byId("state-space-section").hidden = !states;
    if (!shown || !states) return;
    const { context, width, height } = fitCanvas(this.canvas);
    this.size = { width, height };
    this.points = Array.from({ length: states.length / 2 }, (_, plan) =>
      this.toScreen({ x: states[2 * plan]!, y: states[2 * plan + 1]! }),
    );
    const shares = planShares(app, shown);
    const visible = opacities(app, shown);
    this.points.forEach((point, plan) => {
      context.globalAlpha = visible[plan]!;
      context.fillStyle = ramp(app.colours.utility, shares[plan]!);
      context.beginPath();
      context.arc(point.x, point.y, 4.5, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
    this.ring(context, shown.chosen, app.colours.ego, 7);
    this.ring(context, shown.plan, app.colours.ink, 8);
    this.ring(context, app.hovered, app.colours.fault, 8);
    this.outlineBrush(context);
  }

  private pointerMoves(event: PointerEvent): void {
    const { app, pressed } = this;
    if (!pressed) {
      app.hover(this.nearest(event));
      return;
    }
    const at = { x: event.offsetX, y: event.offsetY };
    pressed.brushing ||= Math.hypot(at.x - pressed.at.x, at.y - pressed.at.y) >= DRAG_PIXELS;
    if (pressed.brushing) app.set({ brush: brushBetween(this.toPlane(pressed.at), this.toPlane(at)) });
  }

  /** A click chooses the plan whose state is near; where there is none, brush and plan are given up. */
  private pointerUp(event: PointerEvent): void {
    const brushing = this.pressed?.brushing;
    this.pressed = null;
    if (brushing) return;
    const plan = this.nearest(event);
    this.app.set(plan >= 0 ? { plan } : { plan, brush: "" });
  }

  private toScreen({ x, y }: Point): Point {
    const { width, height } = this.size;
    return { x: width / 2 + x * (width / 2 - MARGIN), y: height / 2 - y * (height / 2 - MARGIN) };
  }

  private toPlane({ x, y }: Point): Point {
    const { width, height } = this.size;
    return { x: (x - width / 2) / (width / 2 - MARGIN), y: (height / 2 - y) / (height / 2 - MARGIN) };
  }

  private outlineBrush(context: CanvasRenderingContext2D): void {
    const brush = parseBrush(this.app.state.brush);
    if (!brush) return;
    const [from, to] = [this.toScreen({ x: brush.left, y: brush.high }), this.toScreen({ x: brush.right, y: brush.low })];
    context.strokeStyle = this.app.colours.fault;
    context.lineWidth = 1.5;
    context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }

  private ring(context: CanvasRenderingContext2D, plan: number, colour: string, radius: number): void {
    const point = this.points[plan];
    if (!point) return;
    context.strokeStyle = colour;
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(point.x, point.y, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  private nearest(event: MouseEvent): number {
    let [best, least] = [-1, REACH];
    this.points.forEach((point, plan) => {
      const distance = Math.hypot(point.x - event.offsetX, point.y - event.offsetY);
      if (distance < least) [best, least] = [plan, distance];
    });
    return best;
  }
}
