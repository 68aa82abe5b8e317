import { API_FOLDER, CAST_FILE, META_FILE, TAPE_FILE } from "../cassette/cassette.ts";
import type { FoundCassette } from "../cassette/read/find_cassettes.ts";

/** Where the parts of a cassette are that it has. */
export interface CassetteParts {
  readonly cast?: string;
  readonly tape?: string;
  readonly meta?: string;
  readonly api?: string;
}

/** The parts of what was found. A link is no part: what it leads to may be anybody's. */
export function cassetteParts({ kind, path }: FoundCassette): CassetteParts {
  if (kind === "tape") return { tape: path };
  const part = (name: string, is: "file" | "folder") => {
    const place = `${path}/${name}`;
    const stat = lstat(place);
    if (stat === undefined || stat.isSymlink) return undefined;
    return stat.isDirectory === (is === "folder") ? place : undefined;
  };
  const parts = {
    cast: part(CAST_FILE, "file"),
    tape: part(TAPE_FILE, "file"),
    meta: part(META_FILE, "file"),
    api: part(API_FOLDER, "folder"),
  };
  const present = Object.entries(parts).filter(([, place]) => place !== undefined);
  return Object.fromEntries(present);
}

function lstat(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}
