// What is shown: frame, plan, step, settings. The address holds it, so that a link reproduces the view.

import type { Benchmark } from "./catalogue.ts";
import type { Mode } from "./selection.ts";

export interface State {
  /** Which run is active, where there are two. */
  run: number;
  token: string;
  /** -1 for the choice. */
  plan: number;
  step: number;
  /** `utility`, or `predicted:NAME`, `v1:NAME`, `v2:NAME`. */
  colour: string;
  utility: Benchmark;
  mode: Mode;
  weight: number;
  /** Only frames whose choice is below 1 in this sub-score; empty for all. */
  broken: string;
  changed: boolean;
  regret: number;
  situation: string;
  place: string;
  log: string;
  /** Only frames in which two runs' scores differ. */
  differ: boolean;
  search: string;
  sort: string;
  boxes: boolean;
  human: boolean;
  reference: boolean;
  others: boolean;
  /** Traffic and path of a plan's branch instead of the replay, where there is one. */
  branch: boolean;
  /** Forward is up instead of to the right. */
  up: boolean;
  /** Middle [m] and scale [pixels/m] of the bird's-eye view; empty for one that fits the plans. */
  view: string;
  /** Corners of a rectangle in the plane of the states: plans outside it fade; empty for none. */
  brush: string;
  /** Column of the matrix that sorts its rows. */
  column: string;
  theme: string;
}

export const DEFAULTS: Readonly<State> = {
  run: 0,
  token: "",
  plan: -1,
  step: 0,
  colour: "utility",
  utility: "v2",
  mode: "inertial",
  weight: 1,
  broken: "",
  changed: false,
  regret: 0,
  situation: "",
  place: "",
  log: "",
  differ: false,
  search: "",
  sort: "time",
  boxes: true,
  human: true,
  reference: false,
  others: true,
  branch: true,
  up: false,
  view: "",
  brush: "",
  column: "utility",
  theme: "auto",
};

const CHOICES: Partial<Record<keyof State, string[]>> = {
  utility: ["v1", "v2"],
  mode: ["framewise", "inertial", "route"],
  theme: ["auto", "light", "dark"],
};

export const LAST_STEP = 40;

/** The state that an address describes; what it does not name, or names wrongly, is the default. */
export function readHash(hash: string): State {
  const state: State = { ...DEFAULTS };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in DEFAULTS)) continue;
    const key = name as keyof State;
    const value = parse(text, DEFAULTS[key], CHOICES[key]);
    if (value !== undefined) Object.assign(state, { [key]: value });
  }
  state.step = Math.round(Math.min(Math.max(state.step, 0), LAST_STEP));
  state.plan = Math.round(Math.max(state.plan, -1));
  state.run = Math.round(Math.max(state.run, 0));
  state.weight = Math.max(state.weight, 0);
  return state;
}

/** The address of a state, without what is as by default. */
export function writeHash(state: State): string {
  const parts = new URLSearchParams();
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    if (state[key] !== DEFAULTS[key]) parts.set(key, String(state[key]));
  }
  return `#${parts}`;
}

function parse(text: string, like: State[keyof State], choices?: string[]): State[keyof State] | undefined {
  if (typeof like === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (typeof like === "number") return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  return choices && !choices.includes(text) ? undefined : text;
}

/** So many numbers, with commas between; null for any other text. */
export function parseNumbers(text: string, count: number): number[] | null {
  const numbers = text.split(",").map((word) => (word.trim() ? Number(word) : NaN));
  return numbers.length === count && numbers.every(Number.isFinite) ? numbers : null;
}
