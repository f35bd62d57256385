// Typed arrays with a JSON header in one block of bytes; docs/frames.md describes the layout.

export type Numbers = Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array;

const TYPES = {
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

type TypeName = keyof typeof TYPES;

const MAGIC = "W4SA";
const HEADER_START = 8;

export interface Header {
  format: string;
  arrays: Record<string, [TypeName, number[], number]>;
  [field: string]: unknown;
}

/** A block whose arrays are views of its bytes. */
export class Container {
  readonly header: Header;
  private readonly start: number;

  constructor(private readonly bytes: ArrayBuffer, format: string) {
    const magic = new TextDecoder("latin1").decode(new Uint8Array(bytes, 0, MAGIC.length));
    if (magic !== MAGIC) throw new Error(`data of another kind: ${format} expected`);
    const length = new DataView(bytes).getUint32(MAGIC.length, true);
    this.start = HEADER_START + length;
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, HEADER_START, length))) as Header;
    if (this.header.format !== format) throw new Error(`data of another version: ${format} expected`);
  }

  has(name: string): boolean {
    return name in this.header.arrays;
  }

  shape(name: string): number[] {
    return this.entry(name)[1];
  }

  array<T extends Numbers = Numbers>(name: string): T {
    const [type, shape, offset] = this.entry(name);
    const count = shape.reduce((product, size) => product * size, 1);
    return new TYPES[type](this.bytes, this.start + offset, count) as unknown as T;
  }

  private entry(name: string): [TypeName, number[], number] {
    const entry = this.header.arrays[name];
    if (!entry) throw new Error(`data without ${name}`);
    return entry;
  }
}
