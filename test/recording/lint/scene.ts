import { findCassettes } from "../../../src/recording/cassette/read/find_cassettes.ts";
import { lintCassette } from "../../../src/recording/lint/lint_cassette.ts";
import { scrubCassette, type ScrubReport } from "../../../src/recording/lint/scrub_cassette.ts";
import { createRedactor } from "../../../src/recording/redaction/redact.ts";
import type { BlankedParts } from "../../../src/recording/redaction/blank_text.ts";
import type { Exchange } from "../../../src/recording/relay/exchange.ts";
import { addExchange } from "../../../src/recording/relay/exchange_folder.ts";
import { keyOf } from "../../../src/recording/relay/match_requests.ts";
import { somebodys } from "../cassette/scrub_run.ts";

export const REDACTOR = createRedactor({ env: {} });

const RUNS = new URL("../../../fixtures/recordings/runs/", import.meta.url).pathname;

/** Runs a test with a new folder, and removes the folder. */
export function inFolder(test: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Makes a cassette of a run that names alice and acme, with one exchange of the API. */
export function makeCassette(folder: string, name = "2.1.332/tools"): void {
  const { cast, tape } = somebodys(`${RUNS}${name}`);
  Deno.mkdirSync(folder, { recursive: true });
  Deno.writeTextFileSync(`${folder}/child.cast`, cast);
  Deno.writeTextFileSync(`${folder}/tape.jsonl`, tape);
  Deno.copyFileSync(`${RUNS}${name}/meta.json`, `${folder}/meta.json`);
  makeExchange(`${folder}/api`);
}

/** Adds an exchange to the folder of a cassette's exchanges; returns its name. */
export function makeExchange(
  api: string,
  { answer = "data: /home/alice/x\n\n", headers = [] }: {
    readonly answer?: string;
    readonly headers?: Exchange["response"]["headers"];
  } = {},
): string {
  const bytes = new TextEncoder();
  const body = JSON.stringify({
    messages: [{ role: "user", content: "Look at /work/acme-billing/a.ts" }],
  });
  const request = { method: "POST", path: "/v1/messages", body: bytes.encode(body) };
  const response = {
    status: 200,
    headers: [["content-type", "text/event-stream"], ...headers] as Exchange["response"]["headers"],
    chunks: [{ ms: 0, bytes: bytes.encode(answer) }],
    whole: true,
  };
  return addExchange(api, { exchange: { at: 0, request, response }, key: keyOf(request) });
}

/** Scrubs all cassettes at a path; returns their reports by name. */
export function scrubAt(
  path: string,
  { blanked = { prompts: false, answers: false }, inputName }: {
    readonly blanked?: BlankedParts;
    readonly inputName?: string;
  } = {},
): Readonly<Record<string, ScrubReport>> {
  const found = findCassettes([path], inputName === undefined ? {} : { inputName });
  return Object.fromEntries(found.map((one) => [
    one.name,
    scrubCassette(one, {
      blanked,
      redactor: REDACTOR,
      known: { homes: [], users: [], hosts: [] },
    }),
  ]));
}

/** Lints the only cassette at a path. */
export function lintAt(
  path: string,
  known: Parameters<typeof lintCassette>[1]["known"] = {},
): ReturnType<typeof lintCassette> {
  const [found] = findCassettes([path]);
  if (found === undefined) throw new Error(`There is no cassette at ${path}`);
  return lintCassette(found, { redactor: REDACTOR, known });
}

/** All files below a folder, by their paths from there. */
export function filesBelow(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
      isDirectory
        ? Object.entries(filesBelow(`${folder}/${name}`)).map((
          [at, text],
        ) => [`${name}/${at}`, text])
        : [[name, Deno.readTextFileSync(`${folder}/${name}`)]]
    ).toSorted(),
  );
}
