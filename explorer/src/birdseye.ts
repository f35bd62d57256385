// The bird's-eye view: map, route, traffic at a step, plans, the explained plan's rollout, and reasons of its zeros.

import type { App, Shown, View } from "./app.ts";
import { opacities, type Point } from "./brush.ts";
import { ramp, type Palette } from "./colours.ts";
import { DRAG_PIXELS, fitCanvas } from "./dom.ts";
import { drawFaults } from "./faults.ts";
import { byShare, planShares } from "./plan_values.ts";
import type { Pose, Scene } from "./scenes.ts";
import { box, line } from "./strokes.ts";
import { drawMap, drawTrack, markInfractions, statusAt } from "./surroundings.ts";
import { Viewport } from "./viewport.ts";

const BEHIND = 11;
const MIN_AHEAD = 34;
const BEYOND = 14;
const BESIDE = 9;
const HOVER_PIXELS = 12;

/** Fingers or the mouse on the view: where each began and is, and the view at the beginning. */
interface Gesture {
  port: Viewport;
  began: Map<number, Point>;
  now: Map<number, Point>;
  moved: boolean;
}

export class BirdsEye implements View {
  private port = new Viewport(1, 1, { x: 0, y: 0, scale: 10 }, false);
  private gesture: Gesture | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly app: App, private readonly run: number) {
    canvas.addEventListener("wheel", (event) => this.zoomAt(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.regrip([...(this.gesture?.now ?? []), [event.pointerId, pointOf(event)]]);
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoves(event));
    canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    canvas.addEventListener("pointercancel", (event) => this.release(event.pointerId));
    canvas.addEventListener("pointerleave", () => app.hover(-1));
    canvas.addEventListener("dblclick", () => app.set({ view: "" }));
  }

  /** Zoom around the middle of the view. */
  zoom(factor: number): void {
    this.app.set({ view: this.port.zoomed(factor, { x: this.port.width / 2, y: this.port.height / 2 }) });
  }

  /** Move the view by pixels. */
  pan(across: number, down: number): void {
    this.app.set({ view: this.port.dragged({ x: 0, y: 0 }, { x: across, y: down }) });
  }

  inputs(app: App): unknown[] {
    const { step, colour, utility, view, up, boxes, human, reference, others, branch, brush } = app.state;
    const shown = app.shown[this.run];
    const hovered = this.run === app.state.run ? app.hovered : -1;
    const drawn = [shown?.scene, shown?.plan, shown?.chosen, shown?.framewise, hovered, app.colours];
    return [...drawn, step, colour, utility, view, up, boxes, human, reference, others, branch, brush];
  }

  update(app: App): void {
    const { context, width, height } = fitCanvas(this.canvas);
    const shown = app.shown[this.run];
    context.fillStyle = app.colours.ground;
    context.fillRect(0, 0, width, height);
    if (!shown) return;
    const kept = Viewport.parse(app.state.view);
    this.port = new Viewport(width, height, kept ?? fit(shown.scene, width, height, app.state.up), app.state.up);
    draw(context, this.port, shown, app);
  }

  private zoomAt(event: WheelEvent): void {
    event.preventDefault();
    this.app.set({ view: this.port.zoomed(Math.exp(-event.deltaY * 0.0015), pointOf(event)) });
  }

  private pointerMoves(event: PointerEvent): void {
    const { gesture } = this;
    if (!gesture?.now.has(event.pointerId)) {
      if (this.run === this.app.state.run) this.app.hover(this.nearest(pointOf(event)));
      return;
    }
    gesture.now.set(event.pointerId, pointOf(event));
    const [before, after] = [grip(gesture.began), grip(gesture.now)];
    const far = Math.hypot(after.middle.x - before.middle.x, after.middle.y - before.middle.y) >= DRAG_PIXELS;
    gesture.moved ||= far || gesture.now.size > 1;
    if (!gesture.moved) return;
    const factor = before.width > 0 ? after.width / before.width : 1;
    this.app.set({ view: gesture.port.dragged(before.middle, after.middle, factor) });
  }

  private pointerUp(event: PointerEvent): void {
    const clicked = this.gesture?.now.has(event.pointerId) && !this.gesture.moved;
    this.release(event.pointerId);
    if (!clicked) return;
    const plan = this.nearest(pointOf(event));
    this.app.set(this.run === this.app.state.run ? { plan } : { run: this.run, plan });
  }

  /** Begin anew with these pointers, from the view as it is. */
  private regrip(pointers: [number, Point][]): void {
    const moved = this.gesture?.moved ?? false;
    this.gesture = pointers.length
      ? { port: this.port, began: new Map(pointers), now: new Map(pointers), moved: moved || pointers.length > 1 }
      : null;
  }

  private release(pointer: number): void {
    this.regrip([...(this.gesture?.now ?? [])].filter(([id]) => id !== pointer));
  }

  /** Plan whose rollout passes nearest to a point of the screen; -1 where none is near. */
  private nearest({ x, y }: Point): number {
    const shown = this.app.shown[this.run];
    if (!shown) return -1;
    let [best, least] = [-1, HOVER_PIXELS];
    shown.scene.rollouts.forEach((rollout, plan) => {
      for (const pose of rollout.slice(3)) {
        const at = this.port.toScreen(pose.x, pose.y);
        const distance = Math.hypot(at.x - x, at.y - y) - (plan === shown.plan ? 2 : 0);
        if (distance < least) [best, least] = [plan, distance];
      }
    });
    return best;
  }
}

function pointOf(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}

/** Middle of the first two pointers, and how far they are apart: 0 for one alone. */
function grip(pointers: Map<number, Point>): { middle: Point; width: number } {
  const [one, other = one] = [...pointers.values()] as [Point, Point?];
  return {
    middle: { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 },
    width: Math.hypot(one.x - other.x, one.y - other.y),
  };
}

/** A view that holds all plans, with the margins of the project's pictures. */
function fit(scene: Scene, width: number, height: number, up: boolean): { x: number; y: number; scale: number } {
  let [far, left, right] = [MIN_AHEAD - BEYOND, 0, 0];
  for (const rollout of scene.rollouts) {
    const end = rollout[rollout.length - 1]!;
    far = Math.max(far, end.x);
    left = Math.max(left, end.y);
    right = Math.min(right, end.y);
  }
  const [length, breadth] = [far + BEYOND + BEHIND, left - right + 2 * BESIDE];
  const scale = up ? Math.min(height / length, width / breadth) : Math.min(width / length, height / breadth);
  return { x: (far + BEYOND - BEHIND) / 2, y: (left + right) / 2, scale };
}

function draw(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, app: App): void {
  const { scene } = shown;
  const { state, colours } = app;
  context.save();
  port.enterEgo(context);
  context.save();
  context.rotate(-scene.ego.heading);
  context.translate(-scene.ego.x, -scene.ego.y);
  const red = app.model.catalogue.names.lights.indexOf("red");
  drawMap(context, port, shown, colours, (light) => light.onRoute && statusAt(light, state.step) === red);
  const { drive } = shown.scenes;
  if (drive) line(context, port, drive.points.map(([x, y]) => ({ x, y, heading: 0 })), colours.centerline, 3);
  const branch = state.branch ? scene.branches.find((one) => one.plan === shown.plan) : undefined;
  for (const track of branch?.tracks ?? scene.tracks) drawTrack(context, port, track, state.step, colours);
  if (branch) line(context, port, branch.ego, colours.ink, 2, [3, 4]);
  context.restore();
  if (state.others) drawPlans(context, port, shown, app);
  const { framewise, plan, chosen } = shown;
  if (state.reference) line(context, port, scene.reference, colours.reference, 2.4, [6, 3]);
  if (framewise !== chosen) line(context, port, scene.rollouts[framewise]!, colours.ego, 2.4, [5, 4]);
  if (plan !== chosen) line(context, port, scene.rollouts[chosen]!, colours.ego, 3);
  drawRollout(context, port, shown, app, plan);
  if (state.human && scene.human) drawHuman(context, port, scene.human, colours);
  if (app.hovered >= 0 && app.hovered !== plan && shown.run === state.run && scene.rollouts[app.hovered]) {
    line(context, port, scene.rollouts[app.hovered]!, colours.ink, 3);
  }
  drawEgo(context, port, scene.rollouts[plan]![state.step]!, app, state.step);
  drawFaults(context, port, shown, app);
  context.restore();
  if (drive) markInfractions(context, port, scene.ego, drive, colours);
  drawScale(context, port, colours);
}

function drawPlans(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, app: App): void {
  const [shares, visible] = [planShares(app, shown), opacities(app, shown)];
  for (const plan of byShare(shares)) {
    if (plan === shown.plan) continue;
    context.globalAlpha = visible[plan]!;
    line(context, port, shown.scene.rollouts[plan]!, ramp(app.colours.utility, shares[plan]!), 1.4);
  }
  context.globalAlpha = 1;
}

function drawRollout(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, app: App, plan: number): void {
  const rollout = shown.scene.rollouts[plan]!;
  const colour = plan === shown.chosen ? app.colours.ego : app.colours.ink;
  if (app.state.boxes) {
    const [front, rear, side] = app.model.catalogue.ego_box;
    context.strokeStyle = colour;
    context.lineWidth = 1.1 / port.scale;
    for (const step of app.colours.box_steps) {
      box(context, rollout[step]!, front, rear, side);
      context.stroke();
    }
  }
  line(context, port, rollout, app.colours.paper, 6);
  line(context, port, rollout, colour, 4);
}

function drawHuman(context: CanvasRenderingContext2D, port: Viewport, poses: Pose[], colours: Palette): void {
  line(context, port, [{ x: 0, y: 0, heading: 0 }, ...poses], colours.human, 1.2);
  context.fillStyle = colours.human;
  for (const pose of poses) {
    context.beginPath();
    context.arc(pose.x, pose.y, 3 / port.scale, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawEgo(context: CanvasRenderingContext2D, port: Viewport, pose: Pose, app: App, step: number): void {
  const [front, rear, side] = app.model.catalogue.ego_box;
  const { ego, paper } = app.colours;
  context.lineWidth = 1.2 / port.scale;
  if (step > 0) {
    context.globalAlpha = 0.35;
    box(context, { x: 0, y: 0, heading: 0 }, front, rear, side);
    context.fillStyle = ego;
    context.fill();
    context.globalAlpha = 1;
  }
  box(context, pose, front, rear, side);
  context.fillStyle = ego;
  context.fill();
  context.strokeStyle = paper;
  context.stroke();
  const [c, s] = [Math.cos(pose.heading), Math.sin(pose.heading)];
  context.beginPath();
  for (const [ahead, beside] of [[front - 0.2, 0], [front - 1.6, side * 0.6], [front - 1.6, -side * 0.6]] as const) {
    context.lineTo(pose.x + ahead * c - beside * s, pose.y + ahead * s + beside * c);
  }
  context.closePath();
  context.fillStyle = paper;
  context.fill();
}

function drawScale(context: CanvasRenderingContext2D, port: Viewport, colours: Palette): void {
  const metres = [1, 2, 5, 10, 20, 50, 100, 200].find((length) => length * port.scale >= 60) ?? 500;
  const [left, low] = [16, port.height - 16];
  context.strokeStyle = context.fillStyle = colours.ink;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(left, low);
  context.lineTo(left + metres * port.scale, low);
  context.stroke();
  context.font = "13px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillText(`${metres} m`, left + (metres * port.scale) / 2, low - 6);
}
