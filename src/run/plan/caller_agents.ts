import { UnsupportedError } from "../../cli_error.ts";
import {
  isLongArgument,
  type OtherAgents,
  type PlacedAgents,
  placedAgents,
} from "./placed_agents.ts";
import type { RunOrder } from "./run_order.ts";
import { settingSources } from "../../sandbox/child/read_settings.ts";

/** How a child comes by agents that are not on the command line as the caller gives them. */
export interface CallerAgents {
  /** Agents of the caller's that are too long for a command line, or in a file, and all arguments that they take. */
  readonly agents: PlacedAgents;
  /** Whether the child reads its config dir as the user's, while `--setting-sources` leaves the user's own out. */
  readonly hidesUser: boolean;
}

/**
 * Where the caller's agents are, and that the child reads what is there.
 *
 * @param options.ofFile those of the file that `--agents` names, as a JSON text
 * @param options.others those beside which they are, where they are too long for a command line
 *
 * @throws {CliError} when agents of a file are too long for a command line and no files can hold them
 */
export function callerAgents(
  { initialized, forwarded, settingSources: given }: RunOrder,
  { ofFile, others }: { readonly ofFile?: string; readonly others?: OtherAgents },
): CallerAgents {
  const long = initialized?.longAgents;
  const isOfFile = long === undefined && ofFile !== undefined;
  if (isOfFile && !isLongArgument(ofFile)) {
    return { agents: { args: [`--agents=${ofFile}`], files: [] }, hidesUser: false };
  }
  const placed = placedAgents(isOfFile ? JSON.parse(ofFile) : long ?? {}, {
    others,
    readsFiles: !forwarded.includes("--restricted"),
  });
  if (isOfFile && placed.problem !== undefined) {
    throw new UnsupportedError(`Cannot honour --agents: ${placed.problem}`, {
      suggestion: "Put that agent into a file of its own below .claude/agents",
    });
  }
  // Whatever else is given, the name of the file would be nothing to the interactive Claude Code.
  const none = isOfFile && placed.args.length === 0 ? ["--agents={}"] : [];
  const agents = { ...placed, args: [...placed.args, ...none] };
  const sources = settingSources(given);
  if (agents.files.length === 0 || sources.has("user")) return { agents, hidesUser: false };
  const reading = `--setting-sources=${["user", ...sources].join()}`;
  return { agents: { ...agents, args: [...agents.args, reading] }, hidesUser: true };
}
