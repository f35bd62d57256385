// Bundles the page into the Python package. With a folder as argument, the bundle goes there instead.
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";

const out = process.argv[2] ?? new URL("../src/world4scorer/reporting/explorer/page_files", import.meta.url).pathname;
await build({
  entryPoints: [new URL("src/main.ts", import.meta.url).pathname],
  outfile: `${out}/explorer.js`,
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: "es2022",
  legalComments: "none",
  banner: { js: "// Made from explorer/src by `npm run build`; do not edit." },
});
for (const name of ["explorer.html", "explorer.css"]) {
  await copyFile(new URL(`src/${name}`, import.meta.url), `${out}/${name}`);
}
