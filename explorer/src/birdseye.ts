// The bird's-eye view: map, route, traffic at a step, plans, the explained plan's rollout, and reasons of its zeros.

import type { App, Shown, View } from "./app.ts";
import { ramp, ranks, type Palette } from "./colours.ts";
import { fitCanvas } from "./dom.ts";
import { drawFaults } from "./faults.ts";
import { planValues } from "./plan_values.ts";
import type { Drive, Pose, Scene, Track } from "./scenes.ts";
import { Viewport } from "./viewport.ts";

const BEHIND = 11;
const MIN_AHEAD = 34;
const BEYOND = 14;
const BESIDE = 9;
const MIN_MOVEMENT = 0.5;
const HOVER_PIXELS = 12;
const RED = 2;
const LANES = [0, 11];
/** Bottom first. */
const FILLED_LAYERS = [5, 17, 15, 1];

export class BirdsEye implements View {
  private port = new Viewport(1, 1, { x: 0, y: 0, scale: 10 }, false);
  private dragged: { x: number; y: number; moved: boolean } | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly app: App, private readonly run: number) {
    canvas.addEventListener("wheel", (event) => this.zoomAt(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.dragged = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoves(event));
    canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    canvas.addEventListener("pointerleave", () => app.hover(-1));
    canvas.addEventListener("dblclick", () => app.set({ view: "" }));
  }

  /** Zoom around the middle of the view. */
  zoom(factor: number): void {
    this.app.set({ view: this.port.zoomed(factor, this.port.width / 2, this.port.height / 2) });
  }

  /** Move the view by pixels. */
  pan(across: number, down: number): void {
    this.app.set({ view: this.port.panned(across, down) });
  }

  inputs(app: App): unknown[] {
    const { step, colour, utility, view, up, boxes, human, reference, others, branch } = app.state;
    const shown = app.shown[this.run];
    const hovered = this.run === app.state.run ? app.hovered : -1;
    const drawn = [shown?.scene, shown?.plan, shown?.chosen, shown?.framewise, hovered, app.colours];
    return [...drawn, step, colour, utility, view, up, boxes, human, reference, others, branch];
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
    this.app.set({ view: this.port.zoomed(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY) });
  }

  private pointerMoves(event: PointerEvent): void {
    const drag = this.dragged;
    if (!drag) {
      if (this.run === this.app.state.run) this.app.hover(this.nearest(event.offsetX, event.offsetY));
      return;
    }
    const [across, down] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (!drag.moved && Math.hypot(across, down) < 4) return;
    this.dragged = { x: event.offsetX, y: event.offsetY, moved: true };
    this.app.set({ view: this.port.panned(across, down) });
  }

  private pointerUp(event: PointerEvent): void {
    const drag = this.dragged;
    this.dragged = null;
    if (!drag || drag.moved) return;
    const plan = this.nearest(event.offsetX, event.offsetY);
    this.app.set(this.run === this.app.state.run ? { plan } : { run: this.run, plan });
  }

  /** Plan whose rollout passes nearest to a point of the screen; -1 where none is near. */
  private nearest(x: number, y: number): number {
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
  drawMap(context, port, shown, colours, state.step);
  if (shown.scenes.drive) drawDrive(context, port, shown.scenes.drive, colours);
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
  drawScale(context, port, colours);
}

function drawMap(
  context: CanvasRenderingContext2D, port: Viewport, shown: Shown, colours: Palette, step: number,
): void {
  const { scene, scenes } = shown;
  const hairline = 1 / port.scale;
  for (const layer of FILLED_LAYERS) {
    context.fillStyle = context.strokeStyle = colours.layers[layer] ?? colours.ground;
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
    const status = light.changes.filter(([from]) => from <= step).at(-1)?.[1];
    if (light.onRoute && light.polygon >= 0 && status === RED) context.fill(scenes.map[light.polygon]!.path, "evenodd");
  }
}

/** The route that a driver was given, and its infractions with their numbers. */
function drawDrive(context: CanvasRenderingContext2D, port: Viewport, drive: Drive, colours: Palette): void {
  line(context, port, drive.points.map(([x, y]) => ({ x, y, heading: 0 })), colours.centerline, 3);
  context.fillStyle = colours.fault;
  for (const [, , x, y] of drive.infractions) {
    context.beginPath();
    context.arc(x, y, 8 / port.scale, 0, 2 * Math.PI);
    context.fill();
  }
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

function drawTrack(
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

function drawPlans(context: CanvasRenderingContext2D, port: Viewport, shown: Shown, app: App): void {
  const found = planValues(app.model, shown.table, shown.scene, shown.at.frame, app.state.colour, app.state.utility);
  const values = found?.values ?? new Float64Array(shown.table.plans);
  const shares = found?.ranked ? ranks(values) : values;
  const order = Array.from(shares.keys()).sort((a, b) => shares[a]! - shares[b]!);
  for (const plan of order) {
    if (plan !== shown.plan) line(context, port, shown.scene.rollouts[plan]!, ramp(app.colours.utility, shares[plan]!), 1.4);
  }
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

/** A line through poses; width and dashes in pixels. */
function line(
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
