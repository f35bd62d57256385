// Filters, and the list of frames that pass them; only the rows in sight are elements of the page.

import type { App, View } from "./app.ts";
import { ramp } from "./colours.ts";
import { byId, fillSelect, make, percent } from "./dom.ts";
import { SORTS, type Listed } from "./filters.ts";
import { DEFAULTS, type State } from "./state.ts";

const ROW = 40;
const SPARE_ROWS = 4;

export class FrameList implements View {
  private readonly list = byId("frames");
  private readonly space = byId("frames-space");
  private followed = "";

  constructor(private readonly app: App) {
    this.fillSelects();
    for (const name of ["broken", "situation", "place", "log", "sort"] as const) this.bind(name, (input) => input.value);
    for (const name of ["changed", "differ"] as const) this.bind(name, (input) => (input as HTMLInputElement).checked);
    this.bind("regret", (input) => Math.max(Number(input.value) || 0, 0));
    this.bind("search", (input) => input.value.trim());
    byId("clear").addEventListener("click", () => {
      const { broken, changed, regret, situation, place, log, differ, search, sort } = DEFAULTS;
      app.set({ broken, changed, regret, situation, place, log, differ, search, sort });
    });
    this.list.addEventListener("scroll", () => this.drawRows());
    byId("differ-field").hidden = app.model.catalogue.runs.length < 2;
  }

  inputs(app: App): unknown[] {
    return [app.listed, app.state.token, app.state.run, app.colours];
  }

  update(app: App): void {
    for (const name of ["broken", "situation", "place", "log", "sort", "search", "regret"] as const) {
      const input = byId<HTMLInputElement>(name);
      if (document.activeElement !== input) input.value = String(app.state[name]);
    }
    for (const name of ["changed", "differ"] as const) byId<HTMLInputElement>(name).checked = app.state[name];
    const all = app.model.catalogue.runs[app.state.run]!.logs.reduce((sum, log) => sum + log.tokens.length, 0);
    byId("count").textContent = `${app.listed.length.toLocaleString("en")} of ${all.toLocaleString("en")} frames`;
    this.space.style.height = `${app.listed.length * ROW}px`;
    this.follow();
    this.drawRows();
  }

  private bind<K extends keyof State>(name: K, read: (input: HTMLInputElement | HTMLSelectElement) => State[K]): void {
    const input = byId<HTMLInputElement | HTMLSelectElement>(name);
    input.addEventListener("input", () => this.app.set({ [name]: read(input) } as Partial<State>));
  }

  private fillSelects(): void {
    const { runs, names } = this.app.model.catalogue;
    const logs = runs.flatMap((run) => run.logs);
    const any = (label: string, values: Iterable<string>) => [
      { value: "", label },
      ...Array.from(new Set(values)).filter(Boolean).sort().map((value) => ({ value, label: value })),
    ];
    fillSelect(byId("situation"), any("any situation", names.situations));
    fillSelect(byId("place"), any("any place", logs.map((log) => log.place)));
    fillSelect(byId("log"), any("all logs", logs.map((log) => log.name)));
    const faults = [...new Set([...names.v2, ...names.v1])].filter((name) => !["EP", "PDMS", "product"].includes(name));
    fillSelect(byId("broken"), [
      { value: "", label: "any choice" },
      ...[...faults, "EC"].map((name) => ({ value: name, label: `choice: ${name} < 1` })),
    ]);
    const sorts = Object.entries(SORTS).filter(([key]) => key !== "difference" || runs.length > 1);
    fillSelect(byId("sort"), sorts.map(([value, { label }]) => ({ value, label })));
  }

  /** Scroll to the frame that is shown, once after it or the list has changed. */
  private follow(): void {
    const { state, listed, at } = this.app;
    const key = `${listed.length} ${state.sort} ${state.token}`;
    if (this.followed === key) return;
    const place = listed.findIndex((one) => one.log === at.log && one.frame === at.frame);
    if (place < 0) return;
    this.followed = key;
    const top = place * ROW;
    if (top < this.list.scrollTop || top + ROW > this.list.scrollTop + this.list.clientHeight) {
      this.list.scrollTop = top - this.list.clientHeight / 2;
    }
  }

  private drawRows(): void {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - SPARE_ROWS);
    const last = first + Math.ceil(this.list.clientHeight / ROW) + 2 * SPARE_ROWS;
    const rows = this.app.listed.slice(first, last).map((one, at) => this.row(one, first + at));
    this.space.replaceChildren(...rows);
  }

  private row(one: Listed, place: number): HTMLElement {
    const { app } = this;
    const entry = app.model.log(app.state.run, one.log);
    const token = entry.tokens[one.frame]!;
    const score = make("span", { class: "score" }, percent(one.score));
    score.style.borderLeftColor = ramp(app.colours.utility, one.score);
    const notes = [
      one.reasons.join(" "),
      one.regret > 0.005 ? `regret ${percent(one.regret, 0)}` : "",
      one.changed ? `re-ranked ${one.gain >= 0 ? "+" : ""}${percent(one.gain, 0)}` : "",
      Number.isFinite(one.difference) && Math.abs(one.difference) > 0.005 ? `A − B ${percent(one.difference, 0)}` : "",
    ];
    const row = make(
      "button",
      {
        class: "row",
        type: "button",
        "data-token": token,
        "aria-current": String(token === app.state.token),
        click: () => app.show(token),
      },
      score,
      make("span", { class: "name" }, `${one.frame} · ${entry.name}`),
      make("span", { class: "notes" }, notes.filter(Boolean).join(" · ") || "no fault"),
    );
    row.style.top = `${place * ROW}px`;
    return row;
  }
}
