// Camera images with plans projected onto the ground in them.

import type { App, Shown, View } from "./app.ts";
import { opacities } from "./brush.ts";
import { ramp } from "./colours.ts";
import { byId, make } from "./dom.ts";
import { byShare, planShares } from "./plan_values.ts";
import type { CameraModel, Pose } from "./scenes.ts";

const MIN_DEPTH = 0.5;
/** Pixels of the canvas for one of the image: lines stay fine where images are small. */
const FINER = 3;
/** Milliseconds that a plan must be shown before its predicted view is asked for. */
const VIEW_DELAY = 200;

export class Cameras implements View {
  private readonly box = byId("cameras");
  private readonly canvases: HTMLCanvasElement[] = [];
  private waiting = 0;
  private readonly images = new Map<string, HTMLImageElement | null>();

  constructor(private readonly app: App) {
    const names = app.model.catalogue.runs[0]!.cameras;
    // From left to right as they look, the rear last.
    const order = ["CAM_L0", "CAM_F0", "CAM_R0", "CAM_B0"];
    const sorted = [...names.keys()].sort((a, b) => order.indexOf(names[a]![0]) - order.indexOf(names[b]![0]));
    for (const camera of sorted) {
      const canvas = make("canvas", { "data-camera": camera });
      this.canvases.push(canvas);
      byId("predicted-view").before(make("figure", {}, canvas, make("figcaption", {}, names[camera]![1])));
    }
  }

  inputs(app: App): unknown[] {
    const { active, state, hovered, colours } = app;
    const { colour, utility, others, brush } = state;
    return [active?.scene, active?.plan, active?.chosen, hovered, colour, utility, others, brush, colours];
  }

  update(app: App): void {
    const shown = app.active;
    this.showBranch(shown);
    this.showPrediction(shown);
    const known = shown && (shown.scene.cameras.length > 0 || shown.scene.branches.length > 0);
    this.box.hidden = !known;
    if (!known) return;
    for (const canvas of this.canvases) void this.draw(canvas, shown, Number(canvas.dataset["camera"]));
  }

  /** What the front camera sees two seconds on, if the plan was driven as a branch. */
  private showBranch(shown: Shown | null): void {
    const branch = shown?.scene.branches.find((one) => one.plan === shown.plan);
    const figure = byId("branch-view");
    figure.hidden = !branch?.view.length;
    const image = byId<HTMLImageElement>("branch-image");
    if (image.src) URL.revokeObjectURL(image.src);
    if (branch?.view.length) image.src = URL.createObjectURL(new Blob([branch.view.slice()], { type: "image/jpeg" }));
  }

  /** What the plan's state predicts to be seen: the nearest view of the training. */
  private showPrediction(shown: Shown | null): void {
    const address = shown && this.app.model.view(shown.run, shown.at, shown.plan);
    byId("predicted-view").hidden = !address;
    const image = byId<HTMLImageElement>("predicted-image");
    window.clearTimeout(this.waiting);
    if (!address || image.getAttribute("src") === address) return;
    image.onerror = () => (byId("predicted-view").hidden = true); // images of the training may have gone
    // Asked for once the plan stays: each answer is a search.
    this.waiting = window.setTimeout(() => (image.src = address), VIEW_DELAY);
  }

  private async draw(canvas: HTMLCanvasElement, shown: Shown, camera: number): Promise<void> {
    const image = await this.load(shown, camera);
    canvas.parentElement!.hidden = !image;
    if (!image || this.app.active?.at !== shown.at) return;
    const model = shown.scene.cameras[camera]!;
    canvas.width = model.width * FINER;
    canvas.height = model.height * FINER;
    const context = canvas.getContext("2d")!;
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    if (!Number.isFinite(model.intrinsics[0]!)) return;
    context.scale(FINER, FINER);
    this.drawPlans(context, shown, model);
  }

  private drawPlans(context: CanvasRenderingContext2D, shown: Shown, model: CameraModel): void {
    const { state, colours, hovered } = this.app;
    const pixel = model.width / 400;
    const { rollouts } = shown.scene;
    if (state.others) {
      const [shares, visible] = [planShares(this.app, shown), opacities(this.app, shown)];
      for (const plan of byShare(shares)) {
        context.globalAlpha = visible[plan]!;
        path(context, model, rollouts[plan]!, ramp(colours.utility, shares[plan]!), pixel);
      }
      context.globalAlpha = 1;
    }
    path(context, model, rollouts[shown.chosen]!, colours.ego, 3 * pixel);
    if (shown.plan !== shown.chosen) path(context, model, rollouts[shown.plan]!, colours.ink, 3 * pixel);
    if (hovered >= 0 && rollouts[hovered]) path(context, model, rollouts[hovered]!, colours.fault, 3 * pixel);
  }

  /** The image of a frame, or null; images of the frames looked at stay in memory. */
  private async load(shown: Shown, camera: number): Promise<HTMLImageElement | null> {
    const key = `${shown.run}-${shown.at.log}-${shown.at.frame}-${camera}`;
    const known = this.images.get(key);
    if (known !== undefined) return known;
    const address = await this.app.model.image(shown.run, shown.at, camera);
    const image = address === null ? null : await decoded(address);
    this.images.set(key, image);
    return image;
  }
}

async function decoded(address: string): Promise<HTMLImageElement | null> {
  const image = new Image();
  image.src = address;
  try {
    await image.decode();
    return image;
  } catch {
    return null; // a frame may lack one of its images
  }
}

/** A rollout on the ground as a camera sees it. */
function path(context: CanvasRenderingContext2D, model: CameraModel, poses: Pose[], colour: string, width: number): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  let drawing = false;
  for (const pose of poses) {
    const at = project(model, pose.x, pose.y);
    if (at && drawing) context.lineTo(at[0], at[1]);
    else if (at) context.moveTo(at[0], at[1]);
    drawing = at !== null;
  }
  context.stroke();
}

/** Pixel of a point on the ground; null where it lies behind the camera. */
export function project(model: CameraModel, x: number, y: number): [number, number] | null {
  const { rotation: r, translation: t, intrinsics: k } = model;
  const [dx, dy, dz] = [x - t[0]!, y - t[1]!, -t[2]!];
  const seen = [0, 1, 2].map((axis) => r[axis]! * dx + r[3 + axis]! * dy + r[6 + axis]! * dz);
  const depth = seen[2]!;
  if (depth < MIN_DEPTH) return null;
  return [0, 1].map((row) => (k[3 * row]! * seen[0]! + k[3 * row + 1]! * seen[1]!) / depth + k[3 * row + 2]!) as [number, number];
}
