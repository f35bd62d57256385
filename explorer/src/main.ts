// The explorer of a run: reads the catalogue, builds the views, shows the frame that the address names.

import { App } from "./app.ts";
import { BirdsEye } from "./birdseye.ts";
import { Cameras } from "./cameras.ts";
import { byId, make } from "./dom.ts";
import { FrameList } from "./frame_list.ts";
import { bindKeys } from "./keyboard.ts";
import { Matrix } from "./matrix.ts";
import { Model } from "./model.ts";
import { PlanPanel } from "./plan_panel.ts";
import { SelectionPanel } from "./selection_panel.ts";
import { openSource } from "./source.ts";
import { StateSpace } from "./state_space.ts";
import { Strip } from "./strip.ts";
import { Toolbar } from "./toolbar.ts";

declare global {
  interface Window {
    /** For tests and for people who look with the browser's console. */
    explorer?: App;
  }
}

async function start(): Promise<void> {
  const source = openSource();
  const app = new App(new Model(await source.catalogue(), source));
  window.explorer = app;
  const { runs, note } = app.model.catalogue;
  byId("about").textContent = byId("about").title = runs.map((run) => `${run.name}: ${run.about}`).join(" ");
  byId("note").textContent = note;
  document.title = `${runs.map((run) => run.name).join(" and ")}: World4Scorer explorer`;
  const views = runs.map((run, number) => {
    const canvas = make("canvas", { class: "birdseye", tabindex: 0, "aria-label": `bird's-eye view, ${run.name}` });
    const title = make("figcaption", {}, runs.length > 1 ? `${"AB"[number] ?? number + 1}: ${run.name}` : "");
    byId("views").append(make("figure", {}, title, canvas));
    return new BirdsEye(canvas, app, number);
  });
  const [toolbar, matrix] = [new Toolbar(app), new Matrix(app)];
  // Canvases first: what follows changes the page's elements.
  const canvases = [...views, matrix, new StateSpace(app), new Strip(app), new Cameras(app)];
  const elements = [toolbar, new FrameList(app), new SelectionPanel(app), new PlanPanel()];
  for (const view of [...canvases, ...elements]) app.add(view);
  bindKeys(app, views[0]!, toolbar, matrix);
  await app.load();
  await app.loadTables();
}

start().catch((error: unknown) => {
  const place = byId("message");
  place.textContent = error instanceof Error ? error.message : String(error);
  place.hidden = false;
});
