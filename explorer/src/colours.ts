// Colours: those of the project's drawings, and their counterparts on dark ground.

import type { Style } from "./catalogue.ts";

export interface Palette extends Style {
  dark: boolean;
}

/** Dark ground; trajectories keep hues that colour-blind readers tell apart, brighter than on paper. */
const DARK: Partial<Style> = {
  utility: ["#6b5a1a", "#a08763", "#a992d8", "#f1e9ff"],
  layers: { drivable_area: "#2c2f34", roadblock: "#2c2f34", carpark_area: "#37332a", intersection: "#363a40" },
  tracks: ["#9aa5b0", "#e69f00", "#f0c400", "#b59a6a", "#b59a6a", "#b59a6a", "#b59a6a"],
  ground: "#17191c",
  lane_edge: "#4a4f57",
  route: "#27506c",
  ink: "#e8e8e6",
  faint: "#9a9aa0",
  paper: "#101214",
  ego: "#3fa9e8",
  reference: "#52b393",
  human: "#f07fb2",
  fault: "#ff8a3d",
  red_light: "#ff8a3d",
  centerline: "#6fa8cf",
};

export function palette(style: Style, dark: boolean): Palette {
  return { ...style, ...(dark ? DARK : {}), dark };
}

/** Whether colours are to be dark: as the state says, or as the system does. */
export function isDark(theme: string): boolean {
  return theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

const SHADES = 256;
const mixed = new Map<string[], string[]>();

/** Colour of a share 0..1 between evenly spaced stops. */
export function ramp(stops: string[], share: number): string {
  let shades = mixed.get(stops);
  if (!shades) {
    shades = Array.from({ length: SHADES }, (_, at) => mix(stops, at / (SHADES - 1)));
    mixed.set(stops, shades);
  }
  return shades[Math.round(Math.min(Math.max(share || 0, 0), 1) * (SHADES - 1))]!;
}

function mix(stops: string[], share: number): string {
  const at = share * (stops.length - 1);
  const left = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [channels(stops[left]!), channels(stops[left + 1]!)];
  return `rgb(${from.map((value, channel) => Math.round(value + (to[channel]! - value) * (at - left))).join(",")})`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** Share of the other plans that each beats: utilities are sums of logarithms, whose values differ too much. */
export function ranks(values: ArrayLike<number>): Float64Array {
  const sorted = Float64Array.from(values).sort();
  return Float64Array.from(values, (value) => below(sorted, value) / Math.max(sorted.length - 1, 1));
}

function below(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
