/**
 * Makes a checkout use the real jsr:@std instead of the linked packages of `test/std`: drops the links, and the lock,
 * which was made with them. For CI alone; it changes the checkout.
 *
 * @module
 */
import { z } from "zod/mini";

const configSchema = z.looseObject({
  tasks: z.record(z.string(), z.looseObject({ command: z.string() })),
});

const { links: _, lock: __, tasks, ...config } = configSchema.parse(
  JSON.parse(Deno.readTextFileSync("deno.json")),
);
const unfrozen = Object.fromEntries(
  Object.entries(tasks).map(([name, task]) => [
    name,
    { ...task, command: task.command.replaceAll(" --frozen", "") },
  ]),
);
Deno.writeTextFileSync(
  "deno.json",
  JSON.stringify({ ...config, lock: false, tasks: unfrozen }, null, 2),
);
Deno.removeSync("deno.lock");
Deno.removeSync("test/std", { recursive: true });
