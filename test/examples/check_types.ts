/**
 * `deno task check`: checks the types of all modules, and of the examples in the pages and in the library's doc comments.
 * They are checked together, because they import the library: to check that once more takes as long as all of it.
 *
 * @module
 */
import { resolve } from "node:path";
import { PAGES } from "../docs/pages.ts";
import { exampleBlocks, LIBRARY_SOURCES } from "./code_blocks.ts";
import { writeExample } from "./run_example.ts";

const ROOT = resolve(import.meta.dirname ?? ".", "..", "..");

/** Where they are each time: Deno does not check again what is as it was. What `deno.json` excludes is not checked at all. */
const FOLDER = `${ROOT}/.examples`;

await Deno.mkdir(FOLDER, { recursive: true });
for (const { name } of Deno.readDirSync(FOLDER)) await Deno.remove(`${FOLDER}/${name}`);
const blocks = exampleBlocks([...PAGES.map(({ path }) => path), ...LIBRARY_SOURCES]);
const paths = await Promise.all(
  blocks.map(({ path, code }, index) =>
    writeExample(code, { folder: FOLDER, name: `${path.replaceAll("/", "_")}_${index}` })
  ),
);
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["check", "--quiet", ".", ...paths],
  cwd: ROOT,
}).spawn().status;
Deno.exitCode = code;
