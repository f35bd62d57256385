// Re-ranking live: utility, mode and weight, and what they lead to in the log and in all frames.

import type { App, View } from "./app.ts";
import { byId, make, percent } from "./dom.ts";
import type { LogResult } from "./selection.ts";
import { DEFAULTS, type State } from "./state.ts";

export class SelectionPanel implements View {
  constructor(app: App) {
    byId("mode").addEventListener("input", (event) => {
      const mode = (event.target as HTMLSelectElement).value as State["mode"];
      const { route_weight: published } = app.model.catalogue.rules;
      const kept = app.state.mode === "route" ? DEFAULTS.weight : app.state.weight;
      app.set({ mode, weight: mode === "route" ? published : kept }); // weights of the two kinds are not alike
    });
    byId("utility").addEventListener("input", (event) => {
      app.set({ utility: (event.target as HTMLSelectElement).value as State["utility"] });
    });
    for (const id of ["weight", "weight-number"]) {
      byId(id).addEventListener("input", (event) => {
        const weight = Number((event.target as HTMLInputElement).value);
        if (Number.isFinite(weight) && weight >= 0) app.set({ weight, mode: rerankedMode(app) });
      });
    }
    byId("weights").append(
      ...[0, 0.25, 0.5, 1, 2].map((weight) =>
        make("button", { type: "button", click: () => app.set({ weight, mode: rerankedMode(app) }) }, String(weight)),
      ),
    );
  }

  inputs(app: App): unknown[] {
    const { run, utility, mode, weight } = app.state;
    return [app.active?.result, app.tables, run, utility, mode, weight];
  }

  update(app: App): void {
    const { state } = app;
    for (const name of ["utility", "mode"] as const) byId<HTMLSelectElement>(name).value = state[name];
    for (const id of ["weight", "weight-number"]) {
      const input = byId<HTMLInputElement>(id);
      if (document.activeElement !== input || id === "weight") input.value = String(state.weight);
    }
    const route = app.active?.table.agreement !== null;
    byId<HTMLSelectElement>("mode").querySelector<HTMLOptionElement>("option:last-child")!.disabled = !route;
    byId("weight-field").classList.toggle("idle", state.mode === "framewise");
    const run = app.model.catalogue.runs[state.run]!;
    const all = run.logs.map((_, log) => app.model.result(state.run, log, state)).filter((one) => one !== null);
    const rows: [string, LogResult[]][] = [[`all, ${all.length} of ${run.logs.length} logs`, all]];
    if (app.active) rows.unshift(["this log", [app.active.result]]);
    byId("selection-head").textContent = state.utility === "v1" ? "PDMS" : "EPDMS";
    byId("selection-results").replaceChildren(...rows.map(([name, results]) => row(name, results)));
  }
}

/** Re-ranking that a weight belongs to: the one that is on, or inertial. */
export function rerankedMode(app: App): State["mode"] {
  return app.state.mode === "framewise" ? "inertial" : app.state.mode;
}

function row(name: string, results: LogResult[]): HTMLElement {
  let [score, framewise, frames, comfort, paired, changed] = [0, 0, 0, 0, 0, 0];
  for (const one of results) {
    for (let frame = 0; frame < one.score.length; frame++) {
      score += one.score[frame]!;
      framewise += one.framewiseScore[frame]!;
      frames++;
      if (one.chosen[frame] !== one.framewise[frame]) changed++;
      if (Number.isNaN(one.comfort[frame]!)) continue;
      comfort += one.comfort[frame]!;
      paired++;
    }
  }
  const cells = [
    percent(score / frames, 2),
    percent(framewise / frames, 2),
    percent(comfort / paired),
    `${changed}`,
  ];
  return make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((text) => make("td", {}, text)));
}
