// The catalogue: runs with their logs and frames, rules of choosing, names and colours.

export type Benchmark = "v1" | "v2";

export interface LogEntry {
  /** Number that its data are asked for by. */
  number: number;
  name: string;
  place: string;
  tokens: string[];
}

export interface RunEntry {
  name: string;
  about: string;
  plans: number;
  has_logits: boolean;
  /** Whether predicted views can be asked for. */
  has_views: boolean;
  /** Names and what people call them. */
  cameras: [string, string][];
  logs: LogEntry[];
}

export interface Rules {
  /** Logarithm of the factor of a plan that does not continue the last. */
  log_floor: number;
  v2_weights: Record<string, number>;
  ec_weight: number;
  utility_weights: Record<Benchmark, Record<string, number>>;
  multiplied: string[];
  added: string[];
  route_weight: number;
  route_min_spread: number;
}

export interface Names {
  outcomes: string[];
  v1: string[];
  v2: string[];
  causes: string[];
  cause_texts: Record<string, string>;
  corners: string[];
  checks: string[];
  situations: string[];
  layers: Record<string, string>;
  lights: string[];
}

export interface Style {
  utility: string[];
  /** Layers that are filled, bottom first. */
  layers: Record<string, string>;
  tracks: string[];
  ground: string;
  lane_edge: string;
  route: string;
  red_light: string;
  ink: string;
  faint: string;
  paper: string;
  ego: string;
  reference: string;
  human: string;
  fault: string;
  centerline: string;
  box_steps: number[];
}

export interface Catalogue {
  format: string;
  units: { length: number; angle: number; score: number; utility: number; step: number };
  rules: Rules;
  names: Names;
  style: Style;
  /** From the rear axle to front, rear and side [m]. */
  ego_box: [number, number, number];
  note: string;
  runs: RunEntry[];
}

export const CATALOGUE_FORMAT = "world4scorer-explorer-1";
