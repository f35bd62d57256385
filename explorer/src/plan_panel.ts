// One plan: its sub-scores predicted and true, reasons of those below 1, and the parts of its utility.

import type { App, Shown, View } from "./app.ts";
import { byId, make } from "./dom.ts";
import { sigmoid, utilityParts } from "./plan_values.ts";
import { describeCause } from "./reasons.ts";

/** Rows of the table: name in v1 and v2, and of the prediction. */
const ROWS: [string, string, string][] = [
  ["NC", "no at-fault collision", "NC"],
  ["DAC", "drivable area", "DAC"],
  ["DDC", "driving direction", "DDC"],
  ["TLC", "traffic light", ""],
  ["TTC", "time to collision", "TTC"],
  ["EP", "progress", "EP"],
  ["LK", "lane keeping", ""],
  ["C", "comfort", "C"],
  ["HC", "history comfort", ""],
];

export class PlanPanel implements View {
  inputs(app: App): unknown[] {
    return [app.active?.scene, app.active?.plan, app.active?.result, app.state.utility];
  }

  update(app: App): void {
    const shown = app.active;
    if (!shown) return;
    const { plan, chosen, framewise, table, at } = shown;
    const utility = table.utility[app.state.utility];
    const own = utility[at.frame * table.plans + plan]!;
    let rank = 1;
    for (let other = 0; other < table.plans; other++) if (utility[at.frame * table.plans + other]! > own) rank++;
    const roles = [plan === chosen ? "the choice" : "", plan === framewise ? "the framewise choice" : ""].filter(Boolean);
    byId("plan-title").textContent = `Plan ${plan}${roles.length ? `, ${roles.join(" and ")}` : ""}`;
    const scores = [
      `PDMS ${(100 * app.model.scorer.own(table, at.frame, plan, "v1")).toFixed(1)}`,
      `EPDMS ${(100 * app.model.scorer.own(table, at.frame, plan, "v2")).toFixed(1)} without extended comfort`,
      continuity(app, shown),
      `number ${rank} of ${table.plans} by utility`,
    ];
    byId("plan-scores").textContent = scores.filter(Boolean).join(" · ");
    this.fillTable(app, shown);
    this.fillReasons(app, shown);
    this.fillParts(app, shown);
    this.fillBranches(app, shown);
  }

  /** Plans that were driven as branches, as buttons. */
  private fillBranches(app: App, shown: Shown): void {
    const buttons = shown.scene.branches.map(({ plan }) =>
      make("button", { type: "button", "aria-pressed": String(plan === shown.plan), click: () => app.set({ plan }) }, `${plan}`),
    );
    byId("branches").hidden = !buttons.length;
    byId("branches").replaceChildren("driven as branches: plans ", ...buttons);
  }

  private fillTable(app: App, shown: Shown): void {
    const { names, units } = app.model.catalogue;
    const { table, at, plan, scene } = shown;
    const rows = ROWS.map(([name, words, outcome]) => {
      const predicted = names.outcomes.indexOf(outcome);
      const first = names.v1.indexOf(name);
      const second = names.v2.indexOf(name);
      const truth1 = first < 0 ? null : table.score1(at.frame, plan, first) * units.score;
      const truth2 = second < 0 ? null : table.score2(at.frame, plan, second) * units.score;
      const raw = second < 0 ? null : table.raw2(at.frame, plan, second) * units.score;
      const guess =
        predicted < 0 || !scene.logits ? null : sigmoid(scene.logits[plan * names.outcomes.length + predicted]!);
      const forgiven = raw !== null && truth2 !== null && raw < truth2;
      const kind = name === "EP" ? "progress" : "fault"; // less than the reference's progress is no fault
      const head = make("th", { scope: "row", title: words }, name);
      return make("tr", {}, head, cell(guess, "predicted"), cell(truth1, kind), cell(truth2, forgiven ? "forgiven" : kind));
    });
    byId("plan-table").replaceChildren(...rows);
  }

  private fillReasons(app: App, shown: Shown): void {
    const causes = shown.scene.causes[shown.plan]!;
    const items = causes.map((cause) =>
      make(
        "li",
        {},
        make(
          "button",
          { type: "button", click: () => app.set({ step: Math.max(cause.step, 0) }) },
          `${cause.metric}: ${describeCause(app.model.catalogue, shown.scenes, shown.scene, cause)}`,
        ),
      ),
    );
    byId("reasons").replaceChildren(...items);
    byId("no-reasons").hidden = items.length > 0;
  }

  private fillParts(app: App, shown: Shown): void {
    const { logits } = shown.scene;
    byId("utility-parts-section").hidden = !logits;
    if (!logits) return;
    const count = app.model.catalogue.names.outcomes.length;
    const of = (plan: number) =>
      utilityParts(app.model.catalogue, logits.subarray(plan * count, (plan + 1) * count), app.state.utility);
    const [parts, best] = [of(shown.plan), of(shown.chosen)];
    const rows = parts.map(({ name, value }, at) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, name),
        make("td", {}, value.toFixed(3)),
        make("td", {}, best[at]!.value.toFixed(3)),
      ),
    );
    const total = (all: typeof parts) => all.reduce((sum, { value }) => sum + value, 0).toFixed(3);
    rows.push(
      make("tr", { class: "total" }, make("th", { scope: "row" }, "utility"), make("td", {}, total(parts)), make("td", {}, total(best))),
    );
    byId("utility-parts").replaceChildren(...rows);
  }
}

function continuity(app: App, shown: Shown): string {
  const { table, at, plan, result } = shown;
  if (!table.isPaired(at.frame)) return "no frame before";
  const continues = table.continues(at.frame, plan, result.chosen[at.frame - 1]!);
  const whole = 100 * app.model.scorer.epdms(table, at.frame, plan, continues ? 1 : 0);
  return `${whole.toFixed(1)} with it: ${continues ? "continues" : "breaks with"} the last choice`;
}

/** A value 0..1 as a bar with its number; true values below 1 stand out, unless the human filter forgives them. */
function cell(value: number | null, kind: "fault" | "progress" | "predicted" | "forgiven"): HTMLElement {
  if (value === null) return make("td", { class: "none" }, "–");
  const bar = make("span", { class: "bar" });
  bar.style.width = `${100 * value}%`;
  const digits = kind === "predicted" || (value > 0 && value < 1) ? 3 : 0;
  const title = kind === "forgiven" ? "below 1, forgiven as the human fails there too" : "";
  const text = value.toFixed(digits) + (kind === "forgiven" ? "*" : "");
  return make("td", { class: value < 1 && kind === "fault" ? "below" : "", title }, bar, make("span", { class: "value" }, text));
}
