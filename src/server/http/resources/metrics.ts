import type { Situation } from "../../conversations/conversation_state.ts";
import type { Call } from "../route.ts";
import type { ServeContext } from "../serve_context.ts";

const STATES: readonly Situation["kind"][] = [
  ...["starting", "idle", "working", "waiting", "ended", "failed"] as const,
];

/** What the server does, in the text format of Prometheus. */
export function metrics(
  { context: { registry, pool, startedAt, handedOver } }: Call<ServeContext>,
): Response {
  const { opened, runs, refused, turns, costUsd } = registry.counts;
  const held = registry.list();
  const states = STATES.map((state) => {
    const { length } = held.filter(({ state: { activity } }) => activity.kind === state);
    return `claude_print_conversations{state="${state}"} ${length}\n`;
  });
  const entries = pool?.entries ?? [];
  const { waited, started } = pool?.counts ?? { waited: 0, started: 0 };
  const waiting = entries.reduce((sum, entry) => sum + entry.waiting, 0);
  const ready = entries.reduce((sum, entry) => sum + entry.ready, 0);
  const text = [
    metric("conversations", "gauge", "Conversations by what they are at."),
    ...states,
    metric("conversations_limit", "gauge", "Conversations and runs that there may be at once."),
    `claude_print_conversations_limit ${registry.most}\n`,
    metric("conversations_opened_total", "counter", "Conversations opened."),
    `claude_print_conversations_opened_total ${opened}\n`,
    metric("runs_total", "counter", "Runs of one prompt that have come to a result."),
    `claude_print_runs_total ${runs}\n`,
    metric("refused_total", "counter", "Conversations and runs for which there was no room."),
    `claude_print_refused_total ${refused}\n`,
    metric("turns_total", "counter", "Turns that have ended."),
    `claude_print_turns_total ${turns}\n`,
    metric(
      "cost_usd_total",
      "counter",
      "What they have cost, in US dollars, as far as it is known.",
    ),
    `claude_print_cost_usd_total ${costUsd}\n`,
    metric("pool_profiles", "gauge", "Profiles for which children wait."),
    `claude_print_pool_profiles ${entries.length}\n`,
    metric("pool_children", "gauge", "Children that wait, and those of them that are ready."),
    `claude_print_pool_children{ready="false"} ${waiting - ready}\n`,
    `claude_print_pool_children{ready="true"} ${ready}\n`,
    metric("handed_over_total", "counter", "Runs of the command line that were handed over."),
    `claude_print_handed_over_total ${handedOver.total}\n`,
    metric("handed_over", "gauge", "Those of them that are under way."),
    `claude_print_handed_over ${handedOver.underWay}\n`,
    metric(
      "pool_held_total",
      "counter",
      "Runs and conversations by whether their child had waited or was started for them.",
    ),
    `claude_print_pool_held_total{child="waited"} ${waited}\n`,
    `claude_print_pool_held_total{child="started"} ${started}\n`,
    metric("start_time_seconds", "gauge", "When the server was started, since the epoch."),
    `claude_print_start_time_seconds ${startedAt / 1000}\n`,
  ].join("");
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4" } });
}

function metric(name: string, type: "gauge" | "counter", help: string): string {
  return `# HELP claude_print_${name} ${help}\n# TYPE claude_print_${name} ${type}\n`;
}
