// Where data come from: blocks within the page, or the server that sent it.

import { CATALOGUE_FORMAT, type Catalogue } from "./catalogue.ts";
import { Container } from "./container.ts";

export interface Source {
  catalogue(): Promise<Catalogue>;
  data(kind: "table" | "scenes", run: number, log: number): Promise<ArrayBuffer>;
  /** Address of an image; null where there is none. */
  image(run: number, log: number, frame: number, camera: number): Promise<string | null>;
  /** Address of the view that a plan's state predicts; null where there is none. */
  view(run: number, log: number, frame: number, plan: number): string | null;
}

export function openSource(): Source {
  return document.getElementById("catalogue") ? new EmbeddedSource() : new ServerSource();
}

function checked(catalogue: Catalogue): Catalogue {
  if (catalogue.format !== CATALOGUE_FORMAT) throw new Error("this page and its data are of different versions");
  return catalogue;
}

class ServerSource implements Source {
  async catalogue(): Promise<Catalogue> {
    return checked((await (await this.get("catalogue.json")).json()) as Catalogue);
  }

  async data(kind: "table" | "scenes", run: number, log: number): Promise<ArrayBuffer> {
    return (await this.get(`data/${run}/${log}/${kind}`)).arrayBuffer();
  }

  async image(run: number, log: number, frame: number, camera: number): Promise<string | null> {
    return `image/${run}/${log}/${frame}/${camera}`;
  }

  view(run: number, log: number, frame: number, plan: number): string {
    return `view/${run}/${log}/${frame}/${plan}`;
  }

  private async get(path: string): Promise<Response> {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`the server answers ${answer.status} to ${path}: ${await answer.text()}`);
    return answer;
  }
}

class EmbeddedSource implements Source {
  private readonly images = new Map<string, Promise<string[]>>();

  async catalogue(): Promise<Catalogue> {
    return checked(JSON.parse(document.getElementById("catalogue")!.textContent!) as Catalogue);
  }

  async data(kind: string, run: number, log: number): Promise<ArrayBuffer> {
    const block = document.getElementById(`${kind}-${run}-${log}`);
    if (!block) throw new Error(`this file does not hold ${kind} of log ${log}`);
    return unzip(block.textContent!);
  }

  async image(run: number, log: number, frame: number, camera: number): Promise<string | null> {
    if (camera !== 0 || !document.getElementById(`images-${run}-${log}`)) return null;
    const key = `${run}-${log}`;
    if (!this.images.has(key)) this.images.set(key, this.unpackImages(run, log));
    return (await this.images.get(key)!)[frame] || null;
  }

  view(): null {
    return null;
  }

  private async unpackImages(run: number, log: number): Promise<string[]> {
    const content = new Container(await this.data("images", run, log), "world4scorer-images-1");
    const jpeg = content.array<Uint8Array>("jpeg");
    let begin = 0;
    return Array.from(content.array("ends"), (end) => {
      const image = jpeg.slice(begin, end);
      begin = end;
      return image.length ? URL.createObjectURL(new Blob([image], { type: "image/jpeg" })) : "";
    });
  }
}

async function unzip(base64: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
