import { assertEquals } from "@std/assert";
import { StandIn, until } from "../standin/stand_in.ts";
import { serve } from "./runs/served.ts";

/** Few enough to be used up at once, and enough for a run. */
const FEW_FILES = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"];

/** More connections than there may be open files, as far as they can be had. */
async function crowd(path: string): Promise<Disposable> {
  const connecting = Array.from({ length: 200 }, () => Deno.connect({ transport: "unix", path }));
  const connected = await Promise.allSettled(connecting);
  return {
    [Symbol.dispose]: () => {
      for (const each of connected) if (each.status === "fulfilled") each.value.close();
    },
  };
}

Deno.test("a server that has no room for more connections is there again once they have gone", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  await using server = await serve({ wrap: (command) => [...FEW_FILES, ...command] });
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  using client = Deno.createHttpClient({
    proxy: { transport: "unix", path: `${folder}/http.sock` },
    poolMaxIdlePerHost: 0,
  });
  const isThere = async () => {
    try {
      const answer = await fetch("http://localhost/healthz", { client });
      return (await answer.text()) !== "";
    } catch {
      return false;
    }
  };
  const answersRuns = async () => {
    const { code, stdout, stderr } = await claude.print(["hello", "--trace"], {
      env: server.env,
      warns: true,
      wrap: (command) => [...FEW_FILES, ...command],
    });
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    return stderr.includes(`/${server.pid}-`);
  };
  for (const socket of ["run.sock", "http.sock"]) {
    {
      using _ = await crowd(`${folder}/${socket}`);
      await answersRuns();
    }
    await until(isThere, `HTTP is answered after a crowd at ${socket}`);
    await until(answersRuns, `runs are taken after a crowd at ${socket}`);
  }
});
