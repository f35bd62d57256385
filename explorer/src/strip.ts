// The frames of a log as a strip: a time line coloured by score, and the front camera's images.

import type { App, View } from "./app.ts";
import { ramp } from "./colours.ts";
import { byId, fitCanvas, make, percent } from "./dom.ts";
import type { Drive } from "./scenes.ts";

const CHOICE_HEIGHT = 5;

export class Strip implements View {
  private readonly canvas = byId<HTMLCanvasElement>("timeline");
  private readonly images = byId("strip");
  private log = "";

  constructor(private readonly app: App) {
    this.canvas.addEventListener("click", (event) => {
      const frames = app.active?.table.frames ?? 0;
      this.go(Math.min(Math.floor((event.offsetX / this.canvas.clientWidth) * frames), frames - 1));
    });
  }

  inputs(app: App): unknown[] {
    return [app.active?.result, app.active?.scene, app.colours];
  }

  update(app: App): void {
    const shown = app.active;
    const { context, width, height } = fitCanvas(this.canvas);
    const entry = app.model.log(app.state.run, app.at.log);
    byId("log-name").textContent = entry.name;
    byId("log-place").textContent = entry.place;
    this.fillImages();
    if (!shown) return;
    const { result, table, at } = shown;
    const each = width / table.frames;
    for (let frame = 0; frame < table.frames; frame++) {
      context.fillStyle = ramp(app.colours.utility, result.score[frame]!);
      context.fillRect(frame * each, 0, Math.max(each - 0.5, 1), height - CHOICE_HEIGHT - 2);
      if (result.chosen[frame] !== result.framewise[frame]) {
        context.fillStyle = app.colours.ego;
        context.fillRect(frame * each, height - CHOICE_HEIGHT, Math.max(each - 0.5, 1), CHOICE_HEIGHT);
      }
    }
    context.strokeStyle = app.colours.fault;
    context.lineWidth = 2;
    context.strokeRect(at.frame * each, 1, Math.max(each - 0.5, 2), height - 2);
    byId("frame-words").textContent =
      `frame ${at.frame} of ${table.frames} · ${shown.scene.speed.toFixed(1)} m/s · ` +
      `${app.model.catalogue.names.situations[table.situation[at.frame]!]} · score ${percent(result.score[at.frame]!)}`;
    this.describeDrive(shown.scenes.drive);
    this.mark(at.frame);
  }

  private describeDrive(drive: Drive | null): void {
    const place = byId("drive-words");
    place.hidden = !drive;
    if (!drive) return;
    const events = drive.infractions.map(([kind, time]) => `${kind} at ${time.toFixed(1)} s`);
    place.textContent = `${drive.driver} on ${drive.route}: ${drive.status}. ${events.join(", ") || "No infraction"}.`;
  }

  private go(frame: number): void {
    const token = this.app.model.log(this.app.state.run, this.app.at.log).tokens[frame];
    if (token) this.app.show(token);
  }

  /** One image for each frame of the log, loaded when it comes into sight. */
  private fillImages(): void {
    const { app } = this;
    const { run } = app.state;
    const { log } = app.at;
    const key = `${run}-${log}`;
    if (this.log === key) return;
    this.log = key;
    this.images.replaceChildren();
    if (!app.model.catalogue.runs[run]!.cameras.length) return;
    const waiting = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          waiting.unobserve(target);
          void this.fill(target as HTMLImageElement, run, log);
        }
      },
      { root: this.images, rootMargin: "200px" },
    );
    app.model.log(run, log).tokens.forEach((_, frame) => {
      const image = make("img", { alt: `front camera, frame ${frame}`, "data-frame": frame, click: () => this.go(frame) });
      this.images.append(image);
      waiting.observe(image);
    });
  }

  private async fill(image: HTMLImageElement, run: number, log: number): Promise<void> {
    const address = await this.app.model.image(run, { log, frame: Number(image.dataset["frame"]) }, 0);
    if (address) image.src = address;
    else image.remove();
  }

  private mark(frame: number): void {
    this.images.querySelector(".current")?.classList.remove("current");
    const image = this.images.querySelector<HTMLElement>(`[data-frame="${frame}"]`);
    image?.classList.add("current");
    if (image) this.images.scrollLeft = image.offsetLeft - this.images.clientWidth / 2;
  }
}
