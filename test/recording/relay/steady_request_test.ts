import { assert, assertEquals, assertThrows } from "@std/assert";
import { stabilizeRequest } from "../../../src/recording/relay/steady_request.ts";
import type { RelayedRequest } from "../../../src/recording/relay/relay_server.ts";
import { CliError } from "../../../src/cli_error.ts";
import { parseFaults } from "../../../src/recording/relay/faults.ts";

function requestOf(body: unknown, method = "POST"): RelayedRequest {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    method,
    path: "/v1/messages?beta=true",
    headers: new Headers(),
    body: new TextEncoder().encode(text),
  };
}

function steady(body: unknown): unknown {
  return JSON.parse(new TextDecoder().decode(stabilizeRequest(requestOf(body)).body));
}

const block = (text: string) => ({ type: "text", text });

/** A request with the dates, device and session of Claude Code 2.1.197 and 2.1.330. */
function requestOn(day: string, month: string, { device, session }: Record<string, string>) {
  return {
    model: "m",
    system: [block(`You are.\nToday's date is ${day}.`)],
    messages: [
      {
        role: "user",
        content: [
          block(
            `<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# currentDate\nToday's date is ${day}.\n</system-reminder>`,
          ),
          { ...block("What day was 2026-11-25?"), cache_control: { type: "ephemeral" } },
        ],
      },
      { role: "system", content: `# Environment\nToday's date is ${day}.` },
      { role: "system", content: [block(`The date has changed. Today's date is now ${day}.`)] },
      { role: "system", content: `The UTC date is now ${day}.` },
    ],
    tools: [{ name: "WebSearch", description: `- The current month is ${month} — use this` }],
    metadata: {
      user_id: JSON.stringify({ device_id: device, account_uuid: "a", session_id: session }),
    },
    stream: true,
  };
}

Deno.test("a steady request hides day, device and session", () => {
  const one = requestOn("2026-11-25", "November 2026", { device: "1f", session: "one" });
  const other = requestOn("2027-12-01", "December 2027", { device: "2e", session: "two" });
  assertEquals(stabilizeRequest(requestOf(one)).body, stabilizeRequest(requestOf(other)).body);
  assertEquals(
    steady(one),
    requestOn("2026-01-01", "January 2026", {
      device: "0".repeat(64),
      session: "00000000-0000-4000-8000-000000000000",
    }),
  );
});

Deno.test("words of user, model and tools stay unchanged", () => {
  const text = "Today's date is 2026-11-25. The current month is November 2026";
  const said = {
    messages: [
      { role: "user", content: text },
      { role: "user", content: [block(text), block(`<system-reminder>\n${text} \ud800`)] },
      { role: "assistant", content: [block(text), { type: "tool_use", input: { text } }] },
      { role: "user", content: [{ type: "tool_result", content: [block(text)] }] },
    ],
    metadata: { user_id: "somebody else's" },
  };
  const request = requestOf({ messages: said.messages });
  assert(stabilizeRequest(request) === request);
});

Deno.test("requests of other programs stay unchanged", () => {
  const today = "Today's date is 2026-11-25";
  const cases = [
    requestOf({ system: today }, "GET"),
    requestOf(today),
    requestOf(`{"system":"${today}"`),
    requestOf(["system", today]),
    requestOf({ system: 1, messages: {}, tools: "all", metadata: { user_id: "somebody" } }),
    requestOf({ messages: [null, "one", { role: "user" }, { role: "system", content: [1] }] }),
    requestOf('{"__proto__":{"system":1}}'),
    requestOf(`{"messages":${"[".repeat(100_000)}${"]".repeat(100_000)}}`),
  ];
  for (const request of cases) assert(stabilizeRequest(request) === request);
  assertEquals(
    JSON.stringify(steady(`{"__proto__":1,"system":"${today}"}`)),
    `{"__proto__":1,"system":"Today's date is 2026-01-01"}`,
  );
});

Deno.test("faults are parsed by request number", () => {
  assertEquals([...parseFaults("529@2,reset@3,stall=5s@4,stall=20ms@5,stall=1m@1")], [
    [2, { kind: "status", status: 529 }],
    [3, { kind: "reset" }],
    [4, { kind: "stall", ms: 5000 }],
    [5, { kind: "stall", ms: 20 }],
    [1, { kind: "stall", ms: 60_000 }],
  ]);
  const texts = ["", "529", "529@0", "200@1", "529@-1", "stall@1", "stall=x@1", "529@2,", "a@1"];
  for (const text of texts) {
    assertThrows(() => parseFaults(text), CliError, "--inject does not take", text);
  }
  assertThrows(
    () => parseFaults("reset@1,529@01"),
    CliError,
    "says twice what happens to request 1",
  );
});
