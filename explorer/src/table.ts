// The table of a log: what choosing and filtering need of its frames.

import { Container, type Numbers } from "./container.ts";

export class LogTable {
  readonly frames: number;
  readonly plans: number;
  readonly utility: { v1: Numbers; v2: Numbers };
  /** (F, N, 7) and (F, N, 9) in units of a score. */
  readonly v1: Uint16Array;
  readonly v2: Uint16Array;
  /** Before the human filter. */
  readonly v2Raw: Uint16Array;
  readonly v1Columns: number;
  readonly v2Columns: number;
  readonly situation: Uint8Array;
  readonly outlier: Float32Array;
  readonly timeUs: Float64Array;
  /** (F, N) agreement of plans with the route; null where it is not known. */
  readonly agreement: Float64Array | null;
  private readonly interval: Float32Array;
  private readonly flags: Uint8Array;
  private readonly flagBytes: number;

  constructor(bytes: ArrayBuffer) {
    const content = new Container(bytes, "world4scorer-table-1");
    [this.frames, this.plans, this.v2Columns] = content.shape("v2") as [number, number, number];
    this.v1Columns = content.shape("v1")[2]!;
    this.utility = { v1: content.array("utility_v1"), v2: content.array("utility_v2") };
    this.v1 = content.array("v1");
    this.v2 = content.array("v2");
    this.v2Raw = content.has("v2_raw") ? content.array("v2_raw") : this.v2;
    this.situation = content.array("situation");
    this.outlier = content.array("outlier");
    this.timeUs = content.array("time_us");
    this.agreement = content.has("route_agreement") ? content.array<Float64Array>("route_agreement") : null;
    this.interval = content.array("interval");
    this.flags = content.array("continues");
    this.flagBytes = content.shape("continues")[1]!;
  }

  /** Whether there is a frame before to be compared with: the one at index - 1. */
  isPaired(frame: number): boolean {
    return !Number.isNaN(this.interval[frame]!);
  }

  /** Whether a plan continues a plan of the frame before. */
  continues(frame: number, plan: number, before: number): boolean {
    const bit = plan * this.plans + before;
    return ((this.flags[frame * this.flagBytes + (bit >> 3)]! >> (bit & 7)) & 1) === 1;
  }

  score1(frame: number, plan: number, column: number): number {
    return this.v1[(frame * this.plans + plan) * this.v1Columns + column]!;
  }

  score2(frame: number, plan: number, column: number): number {
    return this.v2[(frame * this.plans + plan) * this.v2Columns + column]!;
  }

  raw2(frame: number, plan: number, column: number): number {
    return this.v2Raw[(frame * this.plans + plan) * this.v2Columns + column]!;
  }
}
