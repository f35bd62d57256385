// What is drawn of a log: map, traffic, plans, rollouts, causes, predicted scores, cameras.

import type { Catalogue } from "./catalogue.ts";
import { Container, type Numbers } from "./container.ts";

export const STEPS = 41;
const THERE_BYTES = Math.ceil(STEPS / 8);
const CAMERA_NUMBERS = 23;

export interface Pose {
  x: number;
  y: number;
  heading: number;
}

export interface Track {
  id: string;
  type: number;
  length: number;
  width: number;
  moves: boolean;
  /** In metres from the origin of the log; null at steps at which the track is not there. */
  poses: (Pose | null)[];
}

export interface Cause {
  metric: string;
  step: number;
  /** Of a track, light, corner or check; -1 for none. */
  index: number;
}

export interface Light {
  /** Number of the map's polygon; -1 for none. */
  polygon: number;
  onRoute: boolean;
  /** Steps and states, by their index among the catalogue's names. */
  changes: [number, number][];
}

export interface CameraModel {
  /** Rows of the pinhole matrix, of the rotation from camera to ego axes, then position [m] and image size. */
  intrinsics: number[];
  rotation: number[];
  translation: number[];
  width: number;
  height: number;
}

/** Everything about one frame. */
export interface Scene {
  ego: Pose;
  speed: number;
  route: Uint32Array;
  centerline: [number, number][];
  tracks: Track[];
  lights: Light[];
  /** By plan 41 poses in the ego frame. */
  rollouts: Pose[][];
  human: Pose[] | null;
  reference: Pose[];
  /** By plan. */
  causes: Cause[][];
  /** (N, 6); null where they are not known. */
  logits: Float64Array | null;
  /** (N, 2) within -1..1; null where states are not known. */
  states: Float64Array | null;
  cameras: CameraModel[];
  branches: Branch[];
}

/** A plan that was not executed, driven in the city: poses and traffic in metres from the origin of the log. */
export interface Branch {
  plan: number;
  ego: Pose[];
  tracks: Track[];
  /** JPEG of the front camera two seconds on. */
  view: Uint8Array;
}

/** The drive that a log is, where a planner drove. */
export interface Drive {
  driver: string;
  route: string;
  status: string;
  /** From the origin of the log [m]. */
  points: [number, number][];
  /** Kind, time since the start [s], place. */
  infractions: [string, number, number, number][];
}

export interface MapShape {
  layer: string;
  path: Path2D;
}

export class LogScenes {
  readonly frames: number;
  readonly plans: number;
  readonly map: MapShape[];
  readonly mapIds: string[];
  readonly drive: Drive | null;
  private readonly content: Container;
  private readonly trackIds: string[];
  private readonly lights: [number, number, [number, number][]][][];
  private readonly decoded = new Map<number, Scene>();

  constructor(bytes: ArrayBuffer, private readonly catalogue: Catalogue) {
    this.content = new Container(bytes, "world4scorer-scenes-1");
    const header = this.content.header;
    this.frames = header["frames"] as number;
    this.plans = header["plans"] as number;
    this.mapIds = header["map_ids"] as string[];
    this.trackIds = header["track_ids"] as string[];
    this.lights = header["lights"] as typeof this.lights;
    this.drive = (header["drive"] as Drive | undefined) ?? null;
    this.map = this.decodeMap();
  }

  frame(index: number): Scene {
    let scene = this.decoded.get(index);
    if (!scene) {
      scene = this.decode(index);
      this.decoded.set(index, scene);
    }
    return scene;
  }

  private decodeMap(): MapShape[] {
    const points = this.content.array<Int32Array>("map_points");
    const ends = this.content.array("map_ring_ends");
    const owners = this.content.array("map_ring_polygon");
    const names = this.catalogue.names.layers;
    const shapes = Array.from(this.content.array("map_layer"), (code) => ({ layer: names[code] ?? "", path: new Path2D() }));
    const unit = this.catalogue.units.length;
    let begin = 0;
    ends.forEach((end, ring) => {
      const path = shapes[owners[ring]!]!.path;
      for (let point = begin; point < end; point++) {
        const x = points[2 * point]! * unit;
        const y = points[2 * point + 1]! * unit;
        if (point === begin) path.moveTo(x, y);
        else path.lineTo(x, y);
      }
      path.closePath();
      begin = end;
    });
    return shapes;
  }

  private decode(frame: number): Scene {
    const pose = this.content.array<Float64Array>("ego_pose");
    const motion = this.content.array<Float32Array>("ego_motion");
    return {
      ego: { x: pose[3 * frame]!, y: pose[3 * frame + 1]!, heading: pose[3 * frame + 2]! },
      speed: Math.hypot(motion[5 * frame]!, motion[5 * frame + 1]!),
      route: this.ragged<Uint32Array>("route", frame, 1),
      centerline: this.pairs(this.ragged<Int32Array>("centerline", frame, 2)),
      tracks: this.decodeTracks(frame),
      lights: this.lights[frame]!.map(([polygon, onRoute, changes]) => ({ polygon, onRoute: onRoute === 1, changes })),
      rollouts: this.decodeRollouts(frame),
      human: this.decodeHuman(frame),
      reference: this.decodeReference(frame),
      causes: this.decodeCauses(frame),
      logits: this.scaled("logits", frame, this.plans * 6, this.catalogue.units.utility),
      states: this.scaled("states", frame, this.plans * 2, 1e-4),
      cameras: this.decodeCameras(frame),
      branches: this.decodeBranches(frame),
    };
  }

  /** Rows of a column whose frames have different numbers of rows. */
  private ragged<T extends Int16Array | Int32Array | Uint32Array>(name: string, frame: number, width: number): T {
    const [begin, end] = this.range(name, frame);
    return this.content.array<T>(name).subarray(width * begin, width * end) as T;
  }

  private range(name: string, frame: number): [number, number] {
    const ends = this.content.array(`${name}_ends`);
    return [frame ? ends[frame - 1]! : 0, ends[frame]!];
  }

  private pairs(numbers: Int32Array): [number, number][] {
    const unit = this.catalogue.units.length;
    return Array.from({ length: numbers.length / 2 }, (_, at) => [numbers[2 * at]! * unit, numbers[2 * at + 1]! * unit]);
  }

  private scaled(name: string, frame: number, count: number, unit: number): Float64Array | null {
    if (!this.content.has(name)) return null;
    return Float64Array.from(this.content.array(name).subarray(frame * count, (frame + 1) * count), (v) => v * unit);
  }

  /** Poses from a start and second differences, beginning at a place of an array of steps. */
  private path(steps: Int16Array, begin: number, start: [number, number, number]): Pose[] {
    const { length, angle } = this.catalogue.units;
    let [x, y, heading] = start;
    let [dx, dy, turn] = [0, 0, 0];
    const poses: Pose[] = [{ x: x * length, y: y * length, heading: heading * angle }];
    for (let step = 0; step < STEPS - 1; step++) {
      dx += steps[begin + 3 * step]!;
      dy += steps[begin + 3 * step + 1]!;
      turn += steps[begin + 3 * step + 2]!;
      poses.push({ x: (x += dx) * length, y: (y += dy) * length, heading: (heading += turn) * angle });
    }
    return poses;
  }

  private decodeRollouts(frame: number): Pose[][] {
    const steps = this.content.array<Int16Array>("rollouts");
    const each = 3 * (STEPS - 1);
    return Array.from({ length: this.plans }, (_, plan) =>
      this.path(steps, (frame * this.plans + plan) * each, [0, 0, 0]),
    );
  }

  private decodeReference(frame: number): Pose[] {
    const from = this.start("reference_start", frame);
    return this.path(this.content.array("reference"), frame * 3 * (STEPS - 1), from);
  }

  private decodeHuman(frame: number): Pose[] | null {
    const poses = this.content.array("human").subarray(frame * 24, (frame + 1) * 24);
    if (Number.isNaN(poses[0]!)) return null;
    return Array.from({ length: 8 }, (_, at) => ({ x: poses[3 * at]!, y: poses[3 * at + 1]!, heading: poses[3 * at + 2]! }));
  }

  private decodeTracks(frame: number): Track[] {
    const [begin, end] = this.range("track_start", frame);
    const content = this.content;
    const steps = content.array<Int16Array>("track_steps");
    const moving = content.array("track_moving");
    const there = content.array("track_there");
    const ids = content.array("track_id");
    const types = content.array("track_type");
    const sizes = content.array("track_size");
    const unit = this.catalogue.units.length;
    let moved = 0;
    for (let row = 0; row < begin; row++) moved += moving[row]!;
    const tracks: Track[] = [];
    for (let row = begin; row < end; row++) {
      const from = this.start("track_start", row);
      const poses = moving[row] ? this.path(steps, moved++ * 3 * (STEPS - 1), from) : this.standing(from);
      tracks.push({
        id: this.trackIds[ids[row]!]!,
        type: types[row]!,
        length: sizes[2 * row]! * unit,
        width: sizes[2 * row + 1]! * unit,
        moves: moving[row] === 1,
        poses: present(poses, there, row),
      });
    }
    return tracks;
  }

  private standing([x, y, heading]: [number, number, number]): Pose[] {
    const { length, angle } = this.catalogue.units;
    return Array<Pose>(STEPS).fill({ x: x * length, y: y * length, heading: heading * angle });
  }

  private decodeCauses(frame: number): Cause[][] {
    const rows = this.ragged<Int16Array>("causes", frame, 4);
    const causes: Cause[][] = Array.from({ length: this.plans }, () => []);
    for (let at = 0; at < rows.length; at += 4) {
      const metric = this.catalogue.names.causes[rows[at]!]!;
      causes[rows[at + 1]!]!.push({ metric, step: rows[at + 2]!, index: rows[at + 3]! });
    }
    return causes;
  }

  private decodeBranches(frame: number): Branch[] {
    if (!this.content.has("branch_plan")) return [];
    const [begin, end] = this.range("branch_plan", frame);
    const plans = this.content.array("branch_plan");
    return Array.from({ length: end - begin }, (_, at) => {
      const row = begin + at;
      const [first, last] = this.range("branch_view", row);
      return {
        plan: plans[row]!,
        ego: this.path(this.content.array("branch_steps"), row * 3 * (STEPS - 1), this.start("branch_start", row)),
        tracks: this.decodeBranchTracks(row),
        view: this.content.array<Uint8Array>("branch_view").slice(first, last),
      };
    });
  }

  private decodeBranchTracks(branch: number): Track[] {
    const [begin, end] = this.range("branch_track", branch);
    if (begin === end) return [];
    const there = this.content.array("branch_track_there");
    const types = this.content.array("branch_track_type");
    const sizes = this.content.array("branch_track_size");
    const unit = this.catalogue.units.length;
    return Array.from({ length: end - begin }, (_, at) => {
      const row = begin + at;
      const poses = this.path(
        this.content.array("branch_track_steps"), row * 3 * (STEPS - 1), this.start("branch_track_start", row),
      );
      return {
        id: "",
        type: types[row]!,
        length: sizes[2 * row]! * unit,
        width: sizes[2 * row + 1]! * unit,
        moves: true,
        poses: present(poses, there, row),
      };
    });
  }

  private start(name: string, row: number): [number, number, number] {
    const numbers = this.content.array(name);
    return [numbers[3 * row]!, numbers[3 * row + 1]!, numbers[3 * row + 2]!];
  }

  private decodeCameras(frame: number): CameraModel[] {
    if (!this.content.has("cameras")) return [];
    const count = this.content.shape("cameras")[1]!;
    const numbers = this.content.array("cameras");
    return Array.from({ length: count }, (_, camera) => {
      const begin = (frame * count + camera) * CAMERA_NUMBERS;
      const part = (from: number, to: number) => Array.from(numbers.subarray(begin + from, begin + to));
      const [width, height] = part(21, 23) as [number, number];
      return { intrinsics: part(0, 9), rotation: part(9, 18), translation: part(18, 21), width, height };
    });
  }
}

/** Poses at the steps whose bits are set; null at the others. */
function present(poses: Pose[], bits: Numbers, row: number): (Pose | null)[] {
  return poses.map((pose, step) => ((bits[row * THERE_BYTES + (step >> 3)]! >> (step & 7)) & 1 ? pose : null));
}
