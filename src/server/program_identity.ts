import deno from "../../deno.json" with { type: "json" };

/**
 * What tells this program from every other version of it: two that say the same of themselves understand each other, and
 * do the same. Of sources that are no release's the version alone would say too little.
 */
export function programIdentity(): string {
  const program = Deno.build.standalone ? Deno.execPath() : new URL(Deno.mainModule).pathname;
  return [deno.version, Deno.version.deno, ...stateOf(program)].join(" ");
}

/** What of a file is another one as soon as it is; nothing of what is no file. */
function stateOf(path: string): readonly unknown[] {
  try {
    const { size, mtime } = Deno.statSync(path);
    return [size, mtime?.getTime()];
  } catch {
    return [];
  }
}
