// Which frames are listed, and in which order.

import type { FrameRef, Model } from "./model.ts";
import type { LogResult } from "./selection.ts";
import type { State } from "./state.ts";
import type { LogTable } from "./table.ts";

/** Least difference of two runs' scores that counts. */
export const LEAST_DIFFERENCE = 0.01;

export interface Listed extends FrameRef {
  score: number;
  regret: number;
  /** Gain over framewise choices. */
  gain: number;
  outlier: number;
  /** Score of the first run less that of the second; NaN where there is no second. */
  difference: number;
  changed: boolean;
  /** Sub-scores of the choice below 1. */
  reasons: string[];
}

export const SORTS: Record<string, { label: string; key: ((one: Listed) => number) | null }> = {
  time: { label: "time", key: null },
  regret: { label: "oracle regret, largest first", key: (one) => -one.regret },
  score: { label: "score, lowest first", key: (one) => one.score },
  outlier: { label: "outliers first (states)", key: (one) => -one.outlier },
  gain: { label: "gain of re-ranking, largest first", key: (one) => -one.gain },
  loss: { label: "loss by re-ranking, largest first", key: (one) => one.gain },
  difference: { label: "difference of the runs, largest first", key: (one) => -Math.abs(one.difference || 0) },
};

/** Frames of the active run that pass all filters, in order; logs that are not loaded yet are left out. */
export function listFrames(model: Model, state: State): Listed[] {
  const found: Listed[] = [];
  const run = model.catalogue.runs[state.run]!;
  run.logs.forEach((entry, log) => {
    if (state.log && entry.name !== state.log) return;
    if (state.place && entry.place !== state.place) return;
    const table = model.tables[state.run]![log];
    const result = model.result(state.run, log, state);
    if (!table || !result) return;
    for (let frame = 0; frame < table.frames; frame++) {
      if (state.situation && model.catalogue.names.situations[table.situation[frame]!] !== state.situation) continue;
      if (state.search && !entry.tokens[frame]!.includes(state.search)) continue;
      const one = describe(model, state, table, result, { log, frame });
      if (passes(one, state)) found.push(one);
    }
  });
  const key = SORTS[state.sort]?.key;
  // Sorting is stable: equal frames stay in time order.
  return key ? found.sort((a, b) => key(a) - key(b)) : found;
}

function passes(one: Listed, state: State): boolean {
  if (state.changed && !one.changed) return false;
  if (state.regret > 0 && !(one.regret > state.regret)) return false;
  if (state.broken && !one.reasons.includes(state.broken)) return false;
  return !state.differ || Math.abs(one.difference) >= LEAST_DIFFERENCE;
}

function describe(model: Model, state: State, table: LogTable, result: LogResult, at: FrameRef): Listed {
  const { frame } = at;
  const score = result.score[frame]!;
  return {
    ...at,
    score,
    regret: result.regret[frame]!,
    gain: score - result.framewiseScore[frame]!,
    outlier: table.outlier[frame]!,
    difference: difference(model, state, at, score),
    changed: result.chosen[frame] !== result.framewise[frame],
    reasons: reasons(model, state, table, result, frame),
  };
}

function reasons(model: Model, state: State, table: LogTable, result: LogResult, frame: number): string[] {
  const found: string[] = [];
  const first = state.utility === "v1";
  const names = first ? model.catalogue.names.v1 : model.catalogue.names.v2;
  const plan = result.chosen[frame]!;
  const perfect = Math.round(1 / model.catalogue.units.score);
  names.forEach((name, column) => {
    if (name === "EP" || name === "PDMS" || name === "product") return; // progress is no fault, the others are sums
    const value = first ? table.score1(frame, plan, column) : table.score2(frame, plan, column);
    if (value < perfect) found.push(name);
  });
  if (!first && result.comfort[frame] === 0) found.push("EC");
  return found;
}

function difference(model: Model, state: State, at: FrameRef, score: number): number {
  if (model.catalogue.runs.length < 2) return NaN;
  const other = 1 - state.run;
  const there = model.locate(other, model.token(state.run, at));
  const result = there && model.result(other, there.log, state);
  if (!there || !result) return NaN;
  const theirs = result.score[there.frame]!;
  return state.run === 0 ? score - theirs : theirs - score;
}
