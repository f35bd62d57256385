// The data of all runs as far as they are loaded, and what selections of them lead to.

import type { Catalogue, LogEntry } from "./catalogue.ts";
import { LogScenes } from "./scenes.ts";
import { evaluate, Scorer, type LogResult, type Selection } from "./selection.ts";
import type { Source } from "./source.ts";
import { LogTable } from "./table.ts";

const KEPT_SCENES = 12;

/** A frame by the index of its log in the catalogue. */
export interface FrameRef {
  log: number;
  frame: number;
}

export class Model {
  readonly scorer: Scorer;
  readonly tables: (LogTable | null)[][];
  private readonly scenes = new Map<string, Promise<LogScenes>>();
  private readonly located: Map<string, FrameRef>[];
  private results: { key: string; byRun: (LogResult | null)[][] } = { key: "", byRun: [] };

  constructor(readonly catalogue: Catalogue, readonly source: Source) {
    this.scorer = new Scorer(catalogue);
    this.tables = catalogue.runs.map((run) => run.logs.map(() => null));
    this.located = catalogue.runs.map((run) => {
      const found = new Map<string, FrameRef>();
      run.logs.forEach((entry, log) => entry.tokens.forEach((token, frame) => found.set(token, { log, frame })));
      return found;
    });
  }

  log(run: number, log: number): LogEntry {
    return this.catalogue.runs[run]!.logs[log]!;
  }

  token(run: number, at: FrameRef): string {
    return this.log(run, at.log).tokens[at.frame]!;
  }

  locate(run: number, token: string): FrameRef | null {
    return this.located[run]?.get(token) ?? null;
  }

  async loadTable(run: number, log: number): Promise<LogTable> {
    const known = this.tables[run]![log];
    if (known) return known;
    const table = new LogTable(await this.source.data("table", run, this.log(run, log).number));
    this.tables[run]![log] = table;
    return table;
  }

  /** Scenes of a log; those of the logs looked at last stay in memory. */
  loadScenes(run: number, log: number): Promise<LogScenes> {
    const key = `${run}-${log}`;
    const known = this.scenes.get(key);
    this.scenes.delete(key);
    const loaded =
      known ??
      this.source
        .data("scenes", run, this.log(run, log).number)
        .then((bytes) => new LogScenes(bytes, this.catalogue));
    loaded.catch(() => this.scenes.delete(key));
    this.scenes.set(key, loaded);
    for (const old of [...this.scenes.keys()].slice(0, -KEPT_SCENES)) this.scenes.delete(old);
    return loaded;
  }

  image(run: number, at: FrameRef, camera: number): Promise<string | null> {
    return this.source.image(run, this.log(run, at.log).number, at.frame, camera);
  }

  /** Address of the view that a plan predicts; null where it cannot be asked for. */
  view(run: number, at: FrameRef, plan: number): string | null {
    if (!this.catalogue.runs[run]!.has_views) return null;
    return this.source.view(run, this.log(run, at.log).number, at.frame, plan);
  }

  /** What a selection leads to in a log; null where its table is not loaded. */
  result(run: number, log: number, selection: Selection): LogResult | null {
    const key = `${selection.utility} ${selection.mode} ${selection.weight}`;
    if (this.results.key !== key) this.results = { key, byRun: this.tables.map((logs) => logs.map(() => null)) };
    const table = this.tables[run]?.[log];
    if (!table) return null;
    const results = this.results.byRun[run]!;
    results[log] ??= evaluate(table, selection, this.scorer);
    return results[log];
  }
}
