// Values of a frame's plans by name: utilities, predicted probabilities, true sub-scores.

import type { App, Shown } from "./app.ts";
import type { Benchmark, Catalogue } from "./catalogue.ts";
import { ranks } from "./colours.ts";
import type { Model } from "./model.ts";
import type { Scene } from "./scenes.ts";
import type { LogTable } from "./table.ts";

export interface PlanValues {
  values: Float64Array;
  /** Whether ranks say more than values: utilities have no fixed range. */
  ranked: boolean;
}

export interface ColumnName {
  /** As the state and the address name it. */
  key: string;
  label: string;
  group: string;
}

/** Columns that plans can be coloured and sorted by. */
export function columns(catalogue: Catalogue, logits: boolean): ColumnName[] {
  const predicted = logits ? catalogue.names.outcomes.map((name) => column("predicted", name)) : [];
  const second = catalogue.names.v2.filter((name) => name !== "product").map((name) => column("v2", name));
  const first = catalogue.names.v1.map((name) => column("v1", name));
  return [
    { key: "utility", label: "utility", group: "" },
    ...predicted,
    { key: "v2:EPDMS", label: "EPDMS", group: "true, v2" },
    ...second,
    ...first,
  ];
}

function column(kind: string, name: string): ColumnName {
  return { key: `${kind}:${name}`, label: name, group: kind === "predicted" ? kind : `true, ${kind}` };
}

export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Values of a column in a frame; null where they are not known. */
export function planValues(
  model: Model,
  table: LogTable,
  scene: Scene | null,
  frame: number,
  key: string,
  benchmark: Benchmark,
): PlanValues | null {
  const [kind, name] = key.split(":") as [string, string | undefined];
  const { names, units } = model.catalogue;
  const make = (value: (plan: number) => number, ranked = false): PlanValues => ({
    values: Float64Array.from({ length: table.plans }, (_, plan) => value(plan)),
    ranked,
  });
  if (kind === "utility") return make((plan) => table.utility[benchmark][frame * table.plans + plan]!, true);
  if (key === "v2:EPDMS") return make((plan) => model.scorer.epdms(table, frame, plan));
  if (kind === "predicted") {
    const outcome = names.outcomes.indexOf(name ?? "");
    const logits = scene?.logits;
    return logits && outcome >= 0 ? make((plan) => sigmoid(logits[plan * names.outcomes.length + outcome]!)) : null;
  }
  const at = (kind === "v1" ? names.v1 : names.v2).indexOf(name ?? "");
  if (at < 0) return null;
  return kind === "v1"
    ? make((plan) => table.score1(frame, plan, at) * units.score)
    : make((plan) => table.score2(frame, plan, at) * units.score);
}

/** Shares 0..1 that stand for values: the values, or the share of the other plans that each beats. */
export function sharesOf({ values, ranked }: PlanValues): Float64Array {
  return ranked ? ranks(values) : values;
}

/** Shares of a frame's plans by the colour that is asked for; zeros where it is not known. */
export function planShares(app: App, shown: Shown): Float64Array {
  const { colour, utility } = app.state;
  const found = planValues(app.model, shown.table, shown.scene, shown.at.frame, colour, utility);
  return found ? sharesOf(found) : new Float64Array(shown.table.plans);
}

/** Plans with the lowest share first: the good ones are drawn above the others. */
export function byShare(shares: Float64Array): number[] {
  return Array.from(shares.keys()).sort((a, b) => shares[a]! - shares[b]!);
}

export interface UtilityPart {
  name: string;
  value: number;
}

/** Summands of a plan's utility: weighted logarithms, and the logarithm of the weighted sum. */
export function utilityParts(catalogue: Catalogue, logits: ArrayLike<number>, benchmark: Benchmark): UtilityPart[] {
  const { multiplied, added, utility_weights: weights } = catalogue.rules;
  const own = weights[benchmark];
  const logOf = (name: string) => -Math.log1p(Math.exp(-logits[catalogue.names.outcomes.indexOf(name)]!));
  const parts = multiplied
    .filter((name) => own[name]! > 0)
    .map((name) => ({ name: `${own[name]} log ${name}`, value: own[name]! * logOf(name) }));
  const sum = added.reduce((total, name) => total + own[name]! * Math.exp(logOf(name)), 0);
  const words = added.map((name) => `${own[name]} ${name}`).join(" + ");
  return [...parts, { name: `log(${words})`, value: Math.log(sum) }];
}
