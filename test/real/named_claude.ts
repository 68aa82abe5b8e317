import { resolve } from "node:path";

/** A Claude Code to test with in the place of the pinned ones. */
export interface NamedClaude {
  /** Path of the executable. */
  readonly binary: string;
  readonly version: string;
}

/**
 * The Claude Code whose executable the variable CLAUDE_CODE names, to see how claude-print does with a version that is
 * not pinned; undefined without one.
 */
export const namedClaude: NamedClaude | undefined = named(Deno.env.get("CLAUDE_CODE"));

function named(path: string | undefined): NamedClaude | undefined {
  if (path === undefined || path === "") return undefined;
  const binary = resolve(path);
  const { stdout } = new Deno.Command(binary, { args: ["--version"], stdin: "null" }).outputSync();
  const [, version] = /^(\S+) \(Claude Code\)/u.exec(new TextDecoder().decode(stdout)) ?? [];
  if (version === undefined) throw new Error(`Cannot test with "${path}": it is not Claude Code`);
  return { binary, version };
}
