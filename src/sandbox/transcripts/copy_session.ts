import { isThere, namesIn } from "../on_disk.ts";
import { parentOf } from "../paths.ts";
import { readTranscript } from "./read_transcript.ts";

/**
 * Copies a session's transcript, and its folder of subagents and results, from one config dir into another.
 *
 * What is copied of a shortened transcript is smaller than the one it is from: what is added to it is added to that one
 * all the same, behind what it has besides.
 *
 * @param options.shortened a transcript with its path below `projects/`, which is taken as it is here
 * @returns bytes that were copied, by their path below `projects/`; none when there is no such session
 */
export function copySession(
  session: string,
  { from, to, shortened }: {
    readonly from: string;
    readonly to: string;
    readonly shortened?: { readonly path: string; readonly text: string };
  },
): ReadonlyMap<string, number> {
  const copied = new Map<string, number>();
  const folders = { from: `${from}/projects`, to: `${to}/projects` };
  for (const slug of namesIn(folders.from)) {
    const path = `${slug}/${session}`;
    if (!isThere(`${folders.from}/${path}.jsonl`)) continue;
    if (shortened === undefined) {
      copyTree(`${path}.jsonl`, { ...folders, copied });
    } else if (shortened.path === `${path}.jsonl`) {
      const bytes = new TextEncoder().encode(shortened.text);
      write(`${folders.to}/${path}.jsonl`, bytes);
      copied.set(`${path}.jsonl`, bytes.length);
    } else {
      continue;
    }
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
  const bytes = readTranscript(`${from}/${path}`);
  write(`${to}/${path}`, bytes);
  copied.set(path, bytes.length);
}

function write(path: string, bytes: Uint8Array): void {
  Deno.mkdirSync(parentOf(path), { recursive: true, mode: 0o700 });
  Deno.writeFileSync(path, bytes, { mode: 0o600 });
}
