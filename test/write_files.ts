import { dirname } from "node:path";

/** Writes files below a folder by their paths: text as it is, everything else as JSON. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, unknown>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = `${folder}/${name}`;
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }
}
