// Choosing among plans, as the engine does: framewise, with inertial or route re-ranking; and what the choices score.

import type { Benchmark, Catalogue, Rules } from "./catalogue.ts";
import type { Numbers } from "./container.ts";
import type { LogTable } from "./table.ts";

export type Mode = "framewise" | "inertial" | "route";

export interface Selection {
  utility: Benchmark;
  mode: Mode;
  weight: number;
}

/** Plan chosen in each frame of a log. The first of equal ones wins, as in the engine. */
export function choose(table: LogTable, selection: Selection, rules: Rules): Int32Array {
  const { frames, plans } = table;
  const utility = selection.mode === "route" ? routeUtility(table, selection, rules) : table.utility[selection.utility];
  const penalty = selection.mode === "inertial" ? selection.weight * rules.log_floor : 0;
  const chosen = new Int32Array(frames);
  for (let frame = 0; frame < frames; frame++) {
    const paired = selection.mode === "inertial" && table.isPaired(frame);
    const before = paired ? chosen[frame - 1]! : -1;
    let best = -1;
    let highest = -Infinity;
    for (let plan = 0; plan < plans; plan++) {
      let value = utility[frame * plans + plan]!;
      if (paired && !table.continues(frame, plan, before)) value += penalty;
      if (value > highest) {
        highest = value;
        best = plan;
      }
    }
    chosen[frame] = best;
  }
  return chosen;
}

/** Utilities re-weighted by agreement with the route; unchanged where the route is not known, or all agree alike. */
function routeUtility(table: LogTable, selection: Selection, rules: Rules): ArrayLike<number> {
  const base = table.utility[selection.utility];
  const { agreement, plans } = table;
  if (!agreement) return base;
  const weighted = Float64Array.from(base);
  for (let begin = 0; begin < base.length; begin += plans) {
    const agreed = spreadOf(agreement.subarray(begin, begin + plans));
    if (agreed.spread < rules.route_min_spread) continue;
    const { spread } = spreadOf(base.subarray(begin, begin + plans));
    for (let at = begin; at < begin + plans; at++) {
      weighted[at]! += (selection.weight * spread * (agreement[at]! - agreed.mean)) / agreed.spread;
    }
  }
  return weighted;
}

function spreadOf(values: Numbers): { mean: number; spread: number } {
  let [sum, squares] = [0, 0];
  for (const value of values) sum += value;
  const mean = sum / values.length;
  for (const value of values) squares += (value - mean) ** 2;
  return { mean, spread: Math.sqrt(squares / values.length) };
}

/** Scores of plans of a log, from the engine's tables and weights. */
export class Scorer {
  private readonly weighted: [number, number][];
  private readonly product: number;
  private readonly pdms: number;
  private readonly whole: number;

  constructor(private readonly catalogue: Catalogue) {
    const { names, rules } = catalogue;
    this.weighted = Object.entries(rules.v2_weights).map(([name, weight]) => [names.v2.indexOf(name), weight]);
    this.product = names.v2.indexOf("product");
    this.pdms = names.v1.indexOf("PDMS");
    this.whole = this.weighted.reduce((sum, [, weight]) => sum + weight, 0);
  }

  get rules(): Rules {
    return this.catalogue.rules;
  }

  /** EPDMS of a plan; extended comfort 0 or 1, or null for none. */
  epdms(table: LogTable, frame: number, plan: number, comfort: number | null = null): number {
    const unit = this.catalogue.units.score;
    let total = 0;
    for (const [column, weight] of this.weighted) total += weight * table.score2(frame, plan, column) * unit;
    const product = table.score2(frame, plan, this.product) * unit;
    if (comfort === null) return (product * total) / this.whole;
    const weight = this.catalogue.rules.ec_weight;
    return (product * (total + weight * comfort)) / (this.whole + weight);
  }

  /** A plan's own score by a benchmark: PDMS, or EPDMS without extended comfort. */
  own(table: LogTable, frame: number, plan: number, benchmark: Benchmark): number {
    if (benchmark === "v2") return this.epdms(table, frame, plan);
    return table.score1(frame, plan, this.pdms) * this.catalogue.units.score;
  }

  /** Score of the best plan of a pool. */
  oracle(table: LogTable, frame: number, benchmark: Benchmark): number {
    let best = 0;
    for (let plan = 0; plan < table.plans; plan++) best = Math.max(best, this.own(table, frame, plan, benchmark));
    return best;
  }
}

/** What the choices in a log lead to, frame by frame. */
export interface LogResult {
  chosen: Int32Array;
  framewise: Int32Array;
  /** EPDMS with extended comfort, or PDMS where the utility is v1. */
  score: Float64Array;
  /** The same of framewise choices. */
  framewiseScore: Float64Array;
  /** Extended comfort 0 or 1; NaN where there is no frame before. */
  comfort: Float64Array;
  /** The pool's best own score less that of the choice. */
  regret: Float64Array;
}

export function evaluate(table: LogTable, selection: Selection, scorer: Scorer): LogResult {
  const { framewise, framewiseScore, oracle } = unchanging(table, selection.utility, scorer);
  const chosen = selection.mode === "framewise" ? framewise : choose(table, selection, scorer.rules);
  const [score, comfort, regret] = [0, 1, 2].map(() => new Float64Array(table.frames)) as [
    Float64Array, Float64Array, Float64Array,
  ];
  for (let frame = 0; frame < table.frames; frame++) {
    comfort[frame] = continued(table, chosen, frame) ?? NaN;
    score[frame] = scoreOf(table, chosen, frame, selection.utility, scorer);
    regret[frame] = oracle[frame]! - scorer.own(table, frame, chosen[frame]!, selection.utility);
  }
  return { chosen, framewise, score, framewiseScore, comfort, regret };
}

/** What does not depend on mode and weight. */
interface Unchanging {
  framewise: Int32Array;
  framewiseScore: Float64Array;
  oracle: Float64Array;
}

const known = new WeakMap<LogTable, Partial<Record<Benchmark, Unchanging>>>();

function unchanging(table: LogTable, utility: Benchmark, scorer: Scorer): Unchanging {
  const ofTable = known.get(table) ?? {};
  known.set(table, ofTable);
  if (!ofTable[utility]) {
    const framewise = choose(table, { utility, mode: "framewise", weight: 0 }, scorer.rules);
    const each = (value: (frame: number) => number) => Float64Array.from({ length: table.frames }, (_, at) => value(at));
    ofTable[utility] = {
      framewise,
      framewiseScore: each((frame) => scoreOf(table, framewise, frame, utility, scorer)),
      oracle: each((frame) => scorer.oracle(table, frame, utility)),
    };
  }
  return ofTable[utility];
}

function scoreOf(table: LogTable, chosen: Int32Array, frame: number, benchmark: Benchmark, scorer: Scorer): number {
  const plan = chosen[frame]!;
  return benchmark === "v1"
    ? scorer.own(table, frame, plan, "v1")
    : scorer.epdms(table, frame, plan, continued(table, chosen, frame));
}

function continued(table: LogTable, chosen: Int32Array, frame: number): number | null {
  if (!table.isPaired(frame)) return null;
  return table.continues(frame, chosen[frame]!, chosen[frame - 1]!) ? 1 : 0;
}
