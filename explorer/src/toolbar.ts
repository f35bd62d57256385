// Time and looks of the bird's-eye view: play and scrub, colours of plans, what is drawn.

import type { App, View } from "./app.ts";
import { byId, fillSelect } from "./dom.ts";
import { columns } from "./plan_values.ts";
import { LAST_STEP, type State } from "./state.ts";

const SHOWN = ["others", "boxes", "human", "reference", "branch", "up"] as const;

export class Toolbar implements View {
  private timer = 0;

  constructor(private readonly app: App) {
    byId("play").addEventListener("click", () => this.toggle());
    byId("step").addEventListener("input", (event) => {
      this.stop();
      app.set({ step: Number((event.target as HTMLInputElement).value) });
    });
    const names = columns(app.model.catalogue, app.model.catalogue.runs.some((run) => run.has_logits));
    fillSelect(byId("colour"), names.map(({ key, label, group }) => ({ value: key, label, group })));
    for (const name of ["colour", "theme"] as const) {
      byId(name).addEventListener("input", (event) => app.set({ [name]: (event.target as HTMLSelectElement).value }));
    }
    for (const name of SHOWN) {
      byId(name).addEventListener("input", (event) => {
        app.set({ [name]: (event.target as HTMLInputElement).checked } as Partial<State>);
      });
    }
    byId("fit").addEventListener("click", () => app.set({ view: "" }));
  }

  /** Play the four seconds, from the start if they are over. */
  toggle(): void {
    if (this.timer) {
      this.stop();
      return;
    }
    if (this.app.state.step >= LAST_STEP) this.app.set({ step: 0 });
    const tick = this.app.model.catalogue.units.step * 1000;
    this.timer = window.setInterval(() => {
      if (this.app.state.step >= LAST_STEP) this.stop();
      else this.app.set({ step: this.app.state.step + 1 });
    }, tick);
    this.app.redraw();
  }

  inputs(app: App): unknown[] {
    return [app.state, app.active?.scene, app.colours, this.timer];
  }

  update(app: App): void {
    const { state } = app;
    byId("play").textContent = this.timer ? "Pause" : "Play";
    byId<HTMLInputElement>("step").value = String(state.step);
    byId("time").textContent = `${(state.step * app.model.catalogue.units.step).toFixed(1)} s`;
    byId<HTMLSelectElement>("colour").value = state.colour;
    byId<HTMLSelectElement>("theme").value = state.theme;
    for (const name of SHOWN) byId<HTMLInputElement>(name).checked = state[name];
    byId("branch-field").hidden = !app.active?.scene.branches.length;
    byId("good").textContent = app.colours.dark ? "bright is good" : "dark is good";
    const bar = byId("ramp");
    bar.style.background = `linear-gradient(to right, ${app.colours.utility.join(", ")})`;
  }

  private stop(): void {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.app.redraw();
  }
}
