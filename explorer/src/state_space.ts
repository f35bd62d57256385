// The 64 states in the plane of their largest spread; points and plans are highlighted together.

import type { App, View } from "./app.ts";
import { ramp, ranks } from "./colours.ts";
import { byId, fitCanvas } from "./dom.ts";
import { planValues } from "./plan_values.ts";

const MARGIN = 14;
const REACH = 14;

export class StateSpace implements View {
  private readonly canvas = byId<HTMLCanvasElement>("state-space");
  private points: { x: number; y: number }[] = [];

  constructor(app: App) {
    this.canvas.addEventListener("pointermove", (event) => app.hover(this.nearest(event)));
    this.canvas.addEventListener("pointerleave", () => app.hover(-1));
    this.canvas.addEventListener("click", (event) => app.set({ plan: this.nearest(event) }));
  }

  inputs(app: App): unknown[] {
    const { active, state, hovered, colours } = app;
    return [active?.scene, active?.plan, active?.chosen, hovered, state.colour, state.utility, colours];
  }

  update(app: App): void {
    const shown = app.active;
    const states = shown?.scene.states;
    byId("state-space-section").hidden = !states;
    if (!shown || !states) return;
    const { context, width, height } = fitCanvas(this.canvas);
    this.points = Array.from({ length: states.length / 2 }, (_, plan) => ({
      x: width / 2 + states[2 * plan]! * (width / 2 - MARGIN),
      y: height / 2 - states[2 * plan + 1]! * (height / 2 - MARGIN),
    }));
    const found = planValues(app.model, shown.table, shown.scene, shown.at.frame, app.state.colour, app.state.utility);
    const shares = found ? (found.ranked ? ranks(found.values) : found.values) : null;
    this.points.forEach((point, plan) => {
      context.fillStyle = ramp(app.colours.utility, shares?.[plan] ?? 0);
      context.beginPath();
      context.arc(point.x, point.y, 4.5, 0, 2 * Math.PI);
      context.fill();
    });
    this.ring(context, shown.chosen, app.colours.ego, 7);
    this.ring(context, shown.plan, app.colours.ink, 8);
    this.ring(context, app.hovered, app.colours.fault, 8);
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
