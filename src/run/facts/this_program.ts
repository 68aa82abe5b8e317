/**
 * What keeps Deno from reading modules before they are needed, which are more than half of them: a run starts 30 ms
 * sooner.
 */
const LATE = "--unstable-lazy-dynamic-imports";

/** This program as a command: the executable it is, or Deno with what it runs. */
export function thisProgram(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const { mainModule } = Deno;
  // A module from elsewhere must not be read by the settings of whatever folder it is called in.
  const alone = mainModule.startsWith("file:") ? [] : ["--no-config", "--no-lock"];
  return [Deno.execPath(), "run", "-A", "--quiet", LATE, ...alone, mainModule];
}
