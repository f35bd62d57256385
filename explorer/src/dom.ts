// Elements of the page. Text is always set as text: tokens and names may hold anything.

/** A pointer that moves farther while it is down drags; else it clicks. */
export const DRAG_PIXELS = 4;

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

/** The element with an id, which the page has. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}

/** A new element; functions among the attributes listen to events of that name. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (typeof value === "boolean") element.toggleAttribute(key, value);
    else element.setAttribute(key, String(value));
  }
  element.append(...children);
  return element;
}

/** Fill a select with options: values and labels, and optionally groups. */
export function fillSelect(select: HTMLSelectElement, options: { value: string; label: string; group?: string }[]): void {
  const groups = new Map<string, HTMLElement>([["", select]]);
  select.replaceChildren();
  for (const { value, label, group = "" } of options) {
    if (!groups.has(group)) {
      const made = make("optgroup", { label: group });
      groups.set(group, made);
      select.append(made);
    }
    groups.get(group)!.append(make("option", { value }, label));
  }
}

const sizes = new WeakMap<Element, { width: number; height: number }>();
/** Sizes are noted when they change: to ask for them while the page is built makes the browser lay it out again. */
const watcher = new ResizeObserver((entries) => {
  let changed = false;
  for (const { target, contentRect } of entries) {
    const known = sizes.get(target);
    const [width, height] = [Math.round(contentRect.width), Math.round(contentRect.height)];
    changed ||= !known || known.width !== width || known.height !== height;
    sizes.set(target, { width, height });
  }
  if (changed) window.dispatchEvent(new Event("resize"));
});

/** A canvas fitted to its box on the screen: its context in CSS pixels, and its size. */
export function fitCanvas(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } {
  if (!sizes.has(canvas)) {
    sizes.set(canvas, { width: canvas.clientWidth, height: canvas.clientHeight });
    watcher.observe(canvas);
  }
  const { width, height } = sizes.get(canvas)!;
  const finer = window.devicePixelRatio || 1;
  const [across, down] = [Math.max(1, Math.round(width * finer)), Math.max(1, Math.round(height * finer))];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(finer, 0, 0, finer, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export function percent(value: number, digits = 1): string {
  return Number.isFinite(value) ? (100 * value).toFixed(digits) : "–";
}
