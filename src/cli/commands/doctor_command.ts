import { EXIT } from "../../cli_error.ts";
import deno from "../../../deno.json" with { type: "json" };
import { libcInventory } from "../../../ffi/libc.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import type { DoctorOptions } from "../arguments/parsed_arguments.ts";
import { awaitDelivery, Outlets } from "../report/outlets.ts";
import { stringifyVisibly } from "../report/print.ts";
import {
  apiCheck,
  claudeCheck,
  loginCheck,
  readUserSetup,
} from "../../run/doctor/claude_checks.ts";
import {
  type Check,
  type CheckName,
  failedCheck,
  renderCheck,
  reportStyle,
  skippedCheck,
} from "../../run/doctor/check_report.ts";
import {
  fifoCheck,
  leftoversCheck,
  libcCheck,
  platformCheck,
  ptyCheck,
} from "../../run/doctor/system_checks.ts";
import { StopSignals } from "../../driver/stop_signals.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { sweep } from "../../sandbox/folder/sweep.ts";
import { listPlaces, orderPlaces } from "../../sandbox/folder/run_places.ts";
import { requireSystem } from "../../sandbox/require_system.ts";
import { locateUserConfig } from "../../sandbox/user_config.ts";

/**
 * Checks whether runs can work on this machine, and prints a line for each check, with a remedy if it fails.
 *
 * @returns the exit code: 0 only if all checks pass
 */
export async function doctor(options: DoctorOptions): Promise<number> {
  using outlets = new Outlets();
  using signals = new StopSignals();
  const stop = new AbortController();
  signals.onArrival = () => stop.abort();
  const env = callerEnvironment();
  const redactor = createRedactor({ env });
  const style = reportStyle({
    env,
    columns: Deno.stdout.isTerminal() ? Deno.consoleSize().columns : undefined,
  });
  const checks: Check[] = [];
  for (const pending of startChecks(options, { env, stop: stop.signal })) {
    const check = await pending;
    checks.push(check);
    if (!options.json) outlets.print(redactor.text(renderCheck(check, style)));
  }
  const [signal] = signals.take();
  const ok = signal === undefined && checks.every((check) => check.ok);
  if (options.json) {
    const report = stringifyVisibly({ ok, version: deno.version, checks });
    outlets.print(`${redactor.text(report)}\n`);
  }
  const exitCode = signal !== undefined ? EXIT.signal + SIGNALS[signal] : ok ? 0 : 2;
  return await awaitDelivery(exitCode, { outlets, until: Infinity, signals });
}

/**
 * Starts all checks and returns them in the order of the report. Independent checks run at the same time, each with its
 * own time limit. The run check starts when all others have ended.
 */
function startChecks(options: DoctorOptions, { env, stop }: {
  readonly env: Readonly<Record<string, string>>;
  /** Aborted by a signal. */
  readonly stop: AbortSignal;
}): readonly Promise<Check>[] {
  const { check, after } = createCheckStarters(stop);
  // Called within checks, so that a check that needs the folder reports that it is missing.
  const here = () => ({ env, cwd: currentFolder() });
  const inventory = libcInventory();
  const platform = check("platform", () => {
    const found = platformCheck(inventory.platform);
    if (found.ok) requireSystem();
    return found;
  });
  const libc = check("libc", () => libcCheck(inventory));
  const pty = after([platform, libc], "pty", ptyCheck);
  const fifo = after([platform, libc], "fifo", () => {
    const folders = [here().cwd];
    return fifoCheck(orderPlaces(listPlaces(env), { folders, writable: folders })[0]);
  });
  const claude = after(
    [platform],
    "claude",
    () => claudeCheck({ named: options.claudeBinary, ...here() }),
  );
  const login = after(
    [platform],
    "login",
    async () => loginCheck(await readUserSetup(here()), Date.now()),
  );
  const api = options.offline
    ? check("api", () => skippedCheck("api", "--offline"))
    : after([platform], "api", async () => {
      const { baseUrl, login } = await readUserSetup(here());
      return login?.kind === "variable" && login.name.startsWith("CLAUDE_CODE_USE_")
        ? skippedCheck("api", `${login.name} is set: another provider answers`)
        : await apiCheck({ baseUrl, stop });
    });
  const leftovers = after([platform, libc], "leftovers", () => {
    const all = listPlaces(env);
    const { dir } = locateUserConfig(env);
    const swept = sweep({ places: all, userConfigDir: dir, dryRun: true });
    return leftoversCheck({ swept, places: all });
  });
  const run = options.run
    ? after([platform, libc, pty, fifo, claude, login], "run", async () => {
      await Promise.all([api, leftovers]);
      const { runCheck } = await import("../../run/doctor/run_check.ts");
      return await runCheck({ claudeBinary: options.claudeBinary, ...here() });
    })
    : check("run", () => skippedCheck("run", "--run sends one real prompt"));
  return [platform, libc, pty, fifo, claude, login, api, leftovers, run];
}

type Look = () => Check | Promise<Check>;

/**
 * Creates functions that start a check. A check that throws has failed. After a signal, all further checks are skipped.
 */
function createCheckStarters(stop: AbortSignal) {
  const check = async (name: CheckName, look: Look): Promise<Check> => {
    try {
      return stop.aborted ? skippedCheck(name, "interrupted") : await look();
    } catch (error) {
      return failedCheck(name, error);
    }
  };
  /** Starts a check if the checks on which it depends pass; else it is skipped. */
  const after = (needed: readonly Promise<Check>[], name: CheckName, look: Look) =>
    check(name, async () => {
      const missing = (await Promise.all(needed)).filter(({ ok }) => !ok);
      if (missing.length === 0) return await check(name, look);
      return skippedCheck(name, `needs ${missing.map((each) => each.name).join(", ")}`);
    });
  return { check, after };
}
