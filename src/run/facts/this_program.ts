/** This program as a command: the executable it is, or Deno with what it runs. */
export function thisProgram(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const { mainModule } = Deno;
  // A module from elsewhere must not be read by the settings of whatever folder it is called in.
  const alone = mainModule.startsWith("file:") ? [] : ["--no-config", "--no-lock"];
  return [Deno.execPath(), "run", "-A", "--quiet", ...alone, mainModule];
}
