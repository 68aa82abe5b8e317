/** Where Deno keeps its cache, and whom it trusts on the way to what is not in there. */
const KEPT = ["DENO_DIR", "DENO_TLS_CA_STORE", "DENO_CERT"];

/**
 * Runs a Deno whose work depends on nothing that the caller's environment says of Deno, such as DENO_V8_FLAGS or
 * DENORT_BIN.
 *
 * @throws {Error} with all it said, when it fails
 */
export async function runDeno(
  args: readonly string[],
  options: {
    readonly deno?: string;
    readonly cwd: string;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const { deno = Deno.execPath(), cwd, env = {} } = options;
  const own = Object.entries(Deno.env.toObject())
    .filter(([name]) => !name.startsWith("DENO") || KEPT.includes(name));
  const { success, stdout, stderr } = await new Deno.Command(deno, {
    args: [...args],
    cwd,
    clearEnv: true,
    env: { ...Object.fromEntries(own), DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  if (success) return;
  const said = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
  throw new Error(`Cannot ${args[0]} the program: ${said.trim()}`);
}
