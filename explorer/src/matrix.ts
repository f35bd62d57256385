// Plans times components as a table of colours; a click on a column sorts, on a row chooses the plan.

import type { App, View } from "./app.ts";
import { opacities } from "./brush.ts";
import { ramp } from "./colours.ts";
import { byId, fitCanvas, make } from "./dom.ts";
import { columns, planValues, sharesOf, type ColumnName } from "./plan_values.ts";

const ROW = 9;

export class Matrix implements View {
  private readonly canvas = byId<HTMLCanvasElement>("matrix");
  private readonly head = byId("matrix-head");
  private order: number[] = [];
  private names: ColumnName[] = [];

  constructor(private readonly app: App) {
    this.canvas.addEventListener("pointermove", (event) => app.hover(this.planAt(event)));
    this.canvas.addEventListener("pointerleave", () => app.hover(-1));
    this.canvas.addEventListener("click", (event) => app.set({ plan: this.planAt(event) }));
  }

  inputs(app: App): unknown[] {
    const { column, utility, brush } = app.state;
    return [app.active?.scene, app.active?.plan, app.hovered, column, utility, brush, app.colours];
  }

  update(app: App): void {
    const shown = app.active;
    if (!shown) return;
    this.fillHead();
    const { table, scene, at } = shown;
    const filled = this.names.map((name) => planValues(app.model, table, scene, at.frame, name.key, app.state.utility));
    const sorting = planValues(app.model, table, scene, at.frame, app.state.column, app.state.utility);
    this.order = Array.from({ length: table.plans }, (_, plan) => plan);
    if (sorting) this.order.sort((a, b) => sorting.values[b]! - sorting.values[a]!);
    const height = `${table.plans * ROW}px`;
    if (this.canvas.style.height !== height) this.canvas.style.height = height;
    const { context, width } = fitCanvas(this.canvas);
    const each = width / this.names.length;
    const visible = opacities(app, shown);
    filled.forEach((found, column) => {
      if (!found) return;
      const shares = sharesOf(found);
      this.order.forEach((plan, row) => {
        context.globalAlpha = visible[plan]!;
        context.fillStyle = ramp(app.colours.utility, shares[plan]!);
        context.fillRect(column * each, row * ROW, each - 1, ROW - 1);
      });
    });
    context.globalAlpha = 1;
    this.outline(context, shown.plan, width, app.colours.ego);
    this.outline(context, app.hovered, width, app.colours.fault);
  }

  /** Plan that is next to another in the order of the rows. */
  neighbour(plan: number, by: number): number {
    const row = this.order.indexOf(plan);
    return this.order[Math.min(Math.max(row + by, 0), this.order.length - 1)] ?? plan;
  }

  /** Column that comes after another. */
  columnAfter(key: string): string {
    const at = this.names.findIndex((name) => name.key === key);
    return this.names[(at + 1) % this.names.length]?.key ?? key;
  }

  private outline(context: CanvasRenderingContext2D, plan: number, width: number, colour: string): void {
    const row = this.order.indexOf(plan);
    if (row < 0) return;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(1, row * ROW, width - 2, ROW);
  }

  private planAt(event: MouseEvent): number {
    return this.order[Math.floor(event.offsetY / ROW)] ?? -1;
  }

  private fillHead(): void {
    const { app } = this;
    const names = columns(app.model.catalogue, app.model.catalogue.runs[app.state.run]!.has_logits);
    if (names.length !== this.names.length) {
      this.names = names;
      const buttons = names.map(({ key, label, group }) =>
        make("button", { type: "button", title: `sort by ${group} ${label}`, "data-key": key, click: () => app.set({ column: key }) }, label),
      );
      this.head.replaceChildren(...buttons);
      const groups = new Map<string, number>();
      for (const { group } of names) groups.set(group, (groups.get(group) ?? 0) + 1);
      const cells = [...groups].map(([group, count]) => {
        const part = make("span", {}, group || "·");
        part.style.flexGrow = String(count);
        return part;
      });
      byId("matrix-groups").replaceChildren(...cells);
    }
    for (const button of this.head.children) {
      button.setAttribute("aria-pressed", String((button as HTMLElement).dataset["key"] === app.state.column));
    }
  }
}
