// Keys for everything that the mouse does.

import type { App } from "./app.ts";
import type { BirdsEye } from "./birdseye.ts";
import { brushAround } from "./brush.ts";
import { byId } from "./dom.ts";
import type { Matrix } from "./matrix.ts";
import { rerankedMode } from "./selection_panel.ts";
import { LAST_STEP } from "./state.ts";
import type { Toolbar } from "./toolbar.ts";

const PAN_PIXELS = 60;
const WEIGHT_STEP = 0.25;

export function bindKeys(app: App, view: BirdsEye, toolbar: Toolbar, matrix: Matrix): void {
  const step = (by: number) => app.set({ step: Math.min(Math.max(app.state.step + by, 0), LAST_STEP) });
  const plan = (by: number) => app.active && app.set({ plan: matrix.neighbour(app.active.plan, by) });
  const weigh = (by: number) => app.set({ weight: Math.max(app.state.weight + by, 0), mode: rerankedMode(app) });
  const help = byId<HTMLDialogElement>("help");
  const actions: Record<string, () => unknown> = {
    ArrowRight: () => app.move(1),
    ArrowLeft: () => app.move(-1),
    ArrowDown: () => plan(1),
    ArrowUp: () => plan(-1),
    Escape: () => app.set({ plan: -1, brush: "" }),
    g: () => app.active && app.set({ brush: app.state.brush ? "" : brushAround(app.active, app.active.plan) }),
    " ": () => toolbar.toggle(),
    ".": () => step(1),
    ",": () => step(-1),
    "+": () => view.zoom(1.25),
    "=": () => view.zoom(1.25),
    "-": () => view.zoom(0.8),
    "0": () => app.set({ view: "" }),
    w: () => view.pan(0, PAN_PIXELS),
    s: () => view.pan(0, -PAN_PIXELS),
    a: () => view.pan(PAN_PIXELS, 0),
    d: () => view.pan(-PAN_PIXELS, 0),
    "]": () => weigh(WEIGHT_STEP),
    "[": () => weigh(-WEIGHT_STEP),
    m: () => cycle("mode"),
    u: () => app.set({ utility: app.state.utility === "v1" ? "v2" : "v1" }),
    c: () => cycle("colour"),
    o: () => cycle("sort"),
    t: () => cycle("theme"),
    k: () => app.set({ column: matrix.columnAfter(app.state.column) }),
    e: () => byId("clear").click(),
    p: () => app.set({ others: !app.state.others }),
    b: () => app.set({ boxes: !app.state.boxes }),
    h: () => app.set({ human: !app.state.human }),
    r: () => app.set({ reference: !app.state.reference }),
    n: () => app.set({ branch: !app.state.branch }),
    f: () => app.set({ up: !app.state.up }),
    x: () => app.model.catalogue.runs.length > 1 && app.set({ run: 1 - app.state.run, plan: -1 }),
    "/": () => byId("search").focus(),
    "?": () => (help.open ? help.close() : help.showModal()),
  };
  /** Choose the next option of a select, as people would. */
  const cycle = (id: "colour" | "sort" | "theme" | "mode") => {
    const select = byId<HTMLSelectElement>(id);
    const options = [...select.options].filter((option) => !option.disabled);
    const at = options.findIndex((option) => option.value === app.state[id]);
    select.value = options[(at + 1) % options.length]!.value;
    select.dispatchEvent(new Event("input"));
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isEditing(event.target, event.key)) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId("help-button").addEventListener("click", () => help.showModal());
}

/** Whether a key belongs to the control that has the focus. */
function isEditing(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLSelectElement || target.closest("dialog")) return true;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox" || key === " ";
  return target instanceof HTMLButtonElement && (key === " " || key === "Enter");
}
