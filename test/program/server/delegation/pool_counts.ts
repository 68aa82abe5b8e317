import { socketClient } from "../http/socket_client.ts";

/** What a server's numbers say of the children that wait in it, and of those that it has given away. */
interface PoolCounts {
  /** Children that can take a message now. */
  readonly ready: number;
  /** Runs and conversations with a child that had waited, and with one that was started for them. */
  readonly waited: number;
  readonly started: number;
  /** Runs of the command line that were handed over. */
  readonly handedOver: number;
  /** Those of them that are not over. */
  readonly underWay: number;
}

/** Asks a server for them. */
export async function poolCounts(
  { XDG_RUNTIME_DIR }: { readonly XDG_RUNTIME_DIR: string },
): Promise<PoolCounts> {
  using client = socketClient(`${XDG_RUNTIME_DIR}/claude-print/http.sock`);
  const { body: text }: { body: string } = await client.ask("GET", "/metrics");
  const count = (name: string) =>
    Number(text.split("\n").find((line) => line.startsWith(`${name} `))?.split(" ").at(-1));
  return {
    ready: count('claude_print_pool_children{ready="true"}'),
    waited: count('claude_print_pool_held_total{child="waited"}'),
    handedOver: count("claude_print_handed_over_total"),
    underWay: count("claude_print_handed_over"),
    started: count('claude_print_pool_held_total{child="started"}'),
  };
}
