// State, data and views: a change of the state loads what it needs and redraws everything once.

import { isDark, palette, type Palette } from "./colours.ts";
import { listFrames, type Listed } from "./filters.ts";
import type { FrameRef, Model } from "./model.ts";
import type { LogScenes, Scene } from "./scenes.ts";
import type { LogResult } from "./selection.ts";
import { readHash, writeHash, type State } from "./state.ts";
import type { LogTable } from "./table.ts";

/** Milliseconds between two addresses: browsers refuse more than a hundred in 30 s. */
const ADDRESS_INTERVAL = 350;

/** The frame that is shown of a run. */
export interface Shown {
  run: number;
  at: FrameRef;
  table: LogTable;
  result: LogResult;
  scenes: LogScenes;
  scene: Scene;
  chosen: number;
  framewise: number;
  /** The plan that is explained: the one asked for, or the choice. */
  plan: number;
}

export interface View {
  /** What it draws; it is drawn again when one of these is another. */
  inputs(app: App): unknown[];
  update(app: App): void;
}

export class App {
  state: State = readHash(location.hash);
  shown: (Shown | null)[] = [];
  listed: Listed[] = [];
  hovered = -1;
  colours: Palette;
  private readonly drawn = new Map<View, unknown[]>();
  private scheduled = false;
  private listKey = "";
  private loaded = 0;
  private complete = false;
  private loading = 0;
  private addressTimer = 0;
  /** Token of the frame that the address names. */
  private addressed: string;

  constructor(readonly model: Model) {
    this.colours = palette(model.catalogue.style, false);
    this.repair();
    this.addressed = this.state.token;
    window.addEventListener("hashchange", () => {
      window.clearTimeout(this.addressTimer);
      this.addressTimer = 0;
      this.state = readHash(location.hash);
      this.repair();
      this.addressed = this.state.token;
      void this.load();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    window.addEventListener("resize", () => {
      for (const view of this.drawn.keys()) this.drawn.set(view, []);
      this.redraw();
    });
  }

  add(view: View): void {
    this.drawn.set(view, []);
  }

  /** Counts the tables that were loaded. */
  get tables(): number {
    return this.loaded;
  }

  /** The frame of the active run; null while it is loading. */
  get active(): Shown | null {
    return this.shown[this.state.run] ?? null;
  }

  /** Where the active run's frame lies, loaded or not. */
  get at(): FrameRef {
    return this.model.locate(this.state.run, this.state.token) ?? { log: 0, frame: 0 };
  }

  set(changes: Partial<State>): void {
    const moved = changes.token !== undefined && changes.token !== this.state.token;
    this.state = { ...this.state, ...changes };
    this.repair();
    this.addressTimer ||= window.setTimeout(() => this.writeAddress(), ADDRESS_INTERVAL);
    if (moved || changes.run !== undefined) void this.load();
    else this.redraw();
  }

  /** What the address says of the state, a moment after it has changed. */
  get link(): string {
    return writeHash(this.state);
  }

  /** Go to a frame: its choice, at the beginning. Planes of states are of one frame, so a brush ends with it. */
  show(token: string): void {
    this.set({ token, plan: -1, step: 0, brush: "" });
  }

  hover(plan: number): void {
    if (plan === this.hovered) return;
    this.hovered = plan;
    this.redraw();
  }

  /** Go some frames on in the list, or in the log where the frame is not listed. */
  move(by: number): void {
    const { log, frame } = this.at;
    const place = this.listed.findIndex((one) => one.log === log && one.frame === frame);
    if (place >= 0) {
      const next = this.listed[Math.min(Math.max(place + by, 0), this.listed.length - 1)]!;
      this.show(this.model.token(this.state.run, next));
      return;
    }
    const tokens = this.model.log(this.state.run, log).tokens;
    this.show(tokens[Math.min(Math.max(frame + by, 0), tokens.length - 1)]!);
  }

  /** Load the frame of every run, then draw. */
  async load(): Promise<void> {
    const ticket = ++this.loading;
    document.body.dataset["state"] = "loading";
    try {
      await Promise.all(
        this.model.catalogue.runs.map(async (_, run) => {
          const at = this.model.locate(run, this.state.token);
          if (at) await Promise.all([this.model.loadTable(run, at.log), this.model.loadScenes(run, at.log)]);
        }),
      );
    } catch (error) {
      this.report(error);
      return;
    }
    if (ticket === this.loading) this.redraw();
  }

  /** Load the tables of all logs, for filters; the list grows meanwhile. */
  async loadTables(): Promise<void> {
    for (const [run, entry] of this.model.catalogue.runs.entries()) {
      for (const log of entry.logs.keys()) {
        try {
          await this.model.loadTable(run, log);
        } catch (error) {
          this.report(error);
          return;
        }
        this.loaded++;
        if (this.loaded % 8 === 0) this.redraw();
      }
    }
    this.complete = true;
    this.redraw();
  }

  /** Draw everything before the next picture of the screen. */
  redraw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      void this.draw();
    });
  }

  report(error: unknown): void {
    const place = document.getElementById("message")!;
    place.textContent = error instanceof Error ? error.message : String(error);
    place.hidden = false;
    document.body.dataset["state"] = "failed";
  }

  /** The browser's way back leads to the frames that were looked at. */
  private writeAddress(): void {
    this.addressTimer = 0;
    if (this.state.token === this.addressed) history.replaceState(null, "", this.link);
    else history.pushState(null, "", this.link);
    this.addressed = this.state.token;
  }

  private async draw(): Promise<void> {
    const shown = await Promise.all(this.model.catalogue.runs.map((_, run) => this.find(run)));
    const begin = performance.now();
    this.shown = shown;
    this.updateList();
    const dark = isDark(this.state.theme);
    if (dark !== this.colours.dark) this.colours = palette(this.model.catalogue.style, dark);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    for (const [view, before] of this.drawn) {
      const inputs = view.inputs(this);
      if (before.length === inputs.length && inputs.every((input, at) => input === before[at])) continue;
      this.drawn.set(view, inputs);
      view.update(this);
    }
    document.body.dataset["milliseconds"] = (performance.now() - begin).toFixed(2);
    if (this.active) document.body.dataset["state"] = "ready";
    if (this.complete) document.body.dataset["tables"] = "all";
  }

  private async find(run: number): Promise<Shown | null> {
    const at = this.model.locate(run, this.state.token);
    const table = at && this.model.tables[run]![at.log];
    if (!at || !table) return null;
    const scenes = await this.model.loadScenes(run, at.log);
    const result = this.model.result(run, at.log, this.state)!;
    const chosen = result.chosen[at.frame]!;
    const asked = run === this.state.run && this.state.plan >= 0 && this.state.plan < table.plans;
    return {
      run,
      at,
      table,
      result,
      scenes,
      scene: scenes.frame(at.frame),
      chosen,
      framewise: result.framewise[at.frame]!,
      plan: asked ? this.state.plan : chosen,
    };
  }

  private updateList(): void {
    const { run, utility, mode, weight, broken, changed, regret, situation, place, log, differ, search, sort } = this.state;
    const key = JSON.stringify([
      run, utility, mode, weight, broken, changed, regret, situation, place, log, differ, search, sort, this.loaded,
    ]);
    if (key === this.listKey) return;
    this.listKey = key;
    this.listed = listFrames(this.model, this.state);
  }

  /** A state that shows something: an address may name frames and runs that are not there. */
  private repair(): void {
    const runs = this.model.catalogue.runs;
    if (!runs[this.state.run]?.logs.length) this.state.run = 0;
    if (!this.model.locate(this.state.run, this.state.token)) {
      this.state.token = runs[this.state.run]!.logs[0]!.tokens[0]!;
    }
  }
}
