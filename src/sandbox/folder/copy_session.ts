import { isThere } from "./is_there.ts";
import { namesIn } from "./names_in.ts";
import { parentOf } from "./parent_of.ts";
import { readTranscript } from "./read_transcript.ts";

/**
 * Copies a session's transcript, and its folder of subagents and results, from one config dir into another.
 *
 * @returns bytes that were copied, by their path below `projects/`; none when there is no such session
 */
export function copySession(
  session: string,
  { from, to }: { readonly from: string; readonly to: string },
): ReadonlyMap<string, number> {
  const copied = new Map<string, number>();
  const folders = { from: `${from}/projects`, to: `${to}/projects` };
  for (const slug of namesIn(folders.from)) {
    const path = `${slug}/${session}`;
    if (!isThere(`${folders.from}/${path}.jsonl`)) continue;
    copyTree(`${path}.jsonl`, { ...folders, copied });
    if (isThere(`${folders.from}/${path}`)) copyTree(path, { ...folders, copied });
  }
  return copied;
}

/** Copies a file, or a folder with the files and folders in it: links there and FIFOs belong to no session. */
function copyTree(
  path: string,
  options: {
    readonly from: string;
    readonly to: string;
    readonly copied: Map<string, number>;
  },
): void {
  const { from, to, copied } = options;
  if (Deno.statSync(`${from}/${path}`).isDirectory) {
    Deno.mkdirSync(`${to}/${path}`, { recursive: true, mode: 0o700 });
    for (const { name, isFile, isDirectory } of Deno.readDirSync(`${from}/${path}`)) {
      if (isFile || isDirectory) copyTree(`${path}/${name}`, options);
    }
    return;
  }
  Deno.mkdirSync(parentOf(`${to}/${path}`), { recursive: true, mode: 0o700 });
  const bytes = readTranscript(`${from}/${path}`);
  Deno.writeFileSync(`${to}/${path}`, bytes, { mode: 0o600 });
  copied.set(path, bytes.length);
}
