// Why a sub-score is below 1, in words.

import type { Catalogue } from "./catalogue.ts";
import type { Cause, LogScenes, Scene } from "./scenes.ts";

export const TRACK_METRICS = ["NC", "TTC"];
/** Metrics decided by the ego's box; for others a dot marks the step. */
export const LOCATED_METRICS = ["NC", "DAC", "TLC", "TTC"];

/** Text of a cause, such as `hits track 7f03 at 1.3 s`. */
export function describeCause(catalogue: Catalogue, scenes: LogScenes, scene: Scene, cause: Cause): string {
  const when = `${(cause.step * catalogue.units.step).toFixed(1)} s`;
  const at = cause.step >= 0 ? `at ${when}` : "before now";
  const words: Record<string, string> = { who: causeName(catalogue, scenes, scene, cause), when, at };
  const template = catalogue.names.cause_texts[cause.metric] ?? `${cause.metric} {at}`;
  // Names are put in as they are: they may hold anything, and are shown as text.
  return template.replace(/\{(who|when|at)\}/g, (_, name: string) => words[name]!);
}

function causeName(catalogue: Catalogue, scenes: LogScenes, scene: Scene, cause: Cause): string {
  if (cause.index < 0) return "";
  if (TRACK_METRICS.includes(cause.metric)) return scene.tracks[cause.index]?.id ?? "";
  if (cause.metric === "TLC") return scenes.mapIds[scene.lights[cause.index]?.polygon ?? -1] ?? "";
  if (cause.metric === "DAC") return (catalogue.names.corners[cause.index] ?? "").replace("_", " ");
  return catalogue.names.checks[cause.index] ?? "";
}
