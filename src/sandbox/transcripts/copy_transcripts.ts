import type { FolderContents } from "../folder/folder_layout.ts";
import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { parentOf } from "../../paths.ts";
import { readPortions } from "./read_transcript.ts";

/**
 * Copies the session to resume into the config dir of a run.
 *
 * @returns sizes of the copied files in bytes, by path below `projects/`; empty if there is no such session
 */
export function copyTranscripts(
  { resume, begun, shortened, userConfigDir }: Pick<
    FolderContents,
    "resume" | "begun" | "shortened" | "userConfigDir"
  >,
  to: string,
): ReadonlyMap<string, number> {
  if (begun !== undefined) {
    return new Map(
      [begun, ...begun.besides ?? []].map(({ path, text: content }) =>
        [path, placeTranscript(to, { path, content })] as const
      ),
    );
  }
  if (resume === undefined) return new Map();
  return copySession(resume, {
    from: userConfigDir,
    to,
    ...(shortened === undefined ? {} : { shortened }),
  });
}

/**
 * Copies a session's transcript, and its folder of subagents and results, from one config dir into another.
 *
 * The child appends to a shortened transcript. Its new lines are later appended to the complete one.
 *
 * @param options.shortened a transcript to use in place of the stored one, with its path below `projects/`
 * @returns sizes of the copied files in bytes, by path below `projects/`; empty if there is no such session
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
  for (const slug of namesIn(`${from}/projects`)) {
    const path = `${slug}/${session}`;
    if (fileAt(`${from}/projects/${path}.jsonl`) === undefined) continue;
    if (shortened === undefined) {
      copyTree(`${path}.jsonl`, { from, to, copied });
    } else if (shortened.path === `${path}.jsonl`) {
      const { path, text: content } = shortened;
      copied.set(path, placeTranscript(to, { path, content }));
    } else {
      continue;
    }
    if (fileAt(`${from}/projects/${path}`) !== undefined) copyTree(path, { from, to, copied });
  }
  return copied;
}

/** Copies a file, or a folder with the files and folders in it. Links and FIFOs in it are not part of a session. */
function copyTree(
  path: string,
  options: {
    readonly from: string;
    readonly to: string;
    readonly copied: Map<string, number>;
  },
): void {
  const { from, to, copied } = options;
  const source = `${from}/projects/${path}`;
  if (Deno.statSync(source).isDirectory) {
    Deno.mkdirSync(`${to}/projects/${path}`, { recursive: true, mode: 0o700 });
    for (const { name, isFile, isDirectory } of Deno.readDirSync(source)) {
      if (isFile || isDirectory) copyTree(`${path}/${name}`, options);
    }
    return;
  }
  copied.set(path, copyFile(source, `${to}/projects/${path}`));
}

/** Copies a file of any size, which may be a link. Returns its size in bytes. */
function copyFile(source: string, target: string): number {
  let size = 0;
  Deno.mkdirSync(parentOf(target), { recursive: true, mode: 0o700 });
  using file = Deno.openSync(target, { write: true, create: true, truncate: true, mode: 0o600 });
  for (const bytes of readPortions(source)) {
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    size += bytes.length;
  }
  return size;
}

/**
 * Writes a new transcript below a config dir's `projects/`.
 *
 * @returns its size in bytes
 */
function placeTranscript(
  configDir: string,
  { path, content }: { readonly path: string; readonly content: string | Uint8Array },
): number {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const target = `${configDir}/projects/${path}`;
  Deno.mkdirSync(parentOf(target), { recursive: true, mode: 0o700 });
  Deno.writeFileSync(target, bytes, { mode: 0o600 });
  return bytes.length;
}
