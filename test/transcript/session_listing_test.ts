import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { type Entry, parseEntry } from "../../src/transcript/entry.ts";
import {
  listingOf,
  NO_NOTES,
  type SessionListing,
  withNoted,
} from "../../src/transcript/session_listing.ts";
import { readTranscript } from "./recording.ts";

/** What lines say of a session, the first `start` of which an earlier run has written. */
function listed(entries: readonly Entry[], start = 0): SessionListing {
  return listingOf(entries.reduce(
    (notes, entry, place) => withNoted(notes, entry, { earlier: place < start }),
    NO_NOTES,
  ));
}

Deno.test("listingOf: reads what Claude Code writes down", () => {
  const { maxOutputTokens, ...listing } = listed(readTranscript("2.1.330/mcp").entries);
  assert(listing.tools.includes("Agent") && listing.tools.includes("mcp__lab__hello"));
  assert(!listing.tools.includes("DeferredToolPlaceholder"));
  assertEquals(listing.mcpServers, [{ name: "lab", status: "connected" }]);
  assertEquals(listing.model, "claude-opus-5-5");
  assertEquals(listing.permissionMode, "default");
  assertEquals([...maxOutputTokens], [["claude-opus-5-5", 128_000]]);
});

Deno.test("listingOf: knows agents and skills of an old transcript, but no tools", () => {
  const listing = listed(readTranscript("2.1.197/background").entries);
  assertEquals(listing.tools, []);
  assert(listing.agents.includes("Explore"));
  assert(listing.skills.includes("deep-research"));
});

Deno.test("listingOf: takes the tools of the first request of the run", () => {
  const shape = (shapeHash: string) => ({
    type: "api-request-shape",
    shapeHash,
    shape: { tools: [{ name: `tool-of-${shapeHash}` }] },
  });
  const request = (shapeHash: string) => ({
    type: "api-request",
    shapeHash,
    querySource: "repl_main_thread",
  });
  const entries = [shape("a"), request("a"), shape("b"), request("b"), request("a")]
    .map((line) => parseEntry(JSON.stringify(line))).filter((entry) => entry !== undefined);
  assertEquals(listed(entries).tools, ["tool-of-a"]);
  assertEquals(listed(entries, 3).tools, ["tool-of-b"]);
  assertEquals(listed(entries, 4).tools, ["tool-of-a"]);
  assertEquals(listed(entries, 5).tools, ["tool-of-a"], "what was on offer last");
});

Deno.test("listingOf: takes the model of the run's first request where no line names one", () => {
  const model = (modelId: string) => ({
    type: "attachment",
    attachment: { type: "model", identity: { modelId } },
  });
  const request = (model: string) => ({
    type: "api-request",
    querySource: "repl_main_thread",
    params: { model, max_tokens: 1 },
  });
  const modelOf = (lines: readonly object[], start = 0) =>
    listed(
      lines.map((line) => parseEntry(JSON.stringify(line))).filter((entry) => entry !== undefined),
      start,
    ).model;
  assertEquals(modelOf([request("a"), request("b")]), "a");
  assertEquals(modelOf([request("a"), request("b")], 1), "b");
  assertEquals(modelOf([request("a"), model("b[1m]")]), "b[1m]");
});

Deno.test("listingOf: never throws on lines of any content", () => {
  const type = fc.constantFrom(
    "deferred_tools_delta",
    "agent_listing_delta",
    "skill_listing",
    "environment",
    "model",
  );
  const names = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
  const attachment = fc.record({
    type,
    addedNames: names,
    addedTypes: names,
    names,
    snapshot: names,
  });
  const request = fc.record({
    type: fc.constantFrom("api-request", "api-request-shape", "permission-mode"),
    querySource: fc.constantFrom("repl_main_thread", 1),
    shapeHash: names,
    shape: fc.oneof(names, fc.record({ tools: names })),
    params: names,
  });
  const line = fc.oneof(
    request,
    attachment.map((attachment) => ({ type: "attachment", attachment })),
  );
  fc.assert(fc.property(fc.array(line), (lines) => {
    const entries = lines.map((line) => parseEntry(JSON.stringify(line)));
    const { tools } = listed(entries.filter((entry) => entry !== undefined));
    assert(tools.every((tool) => typeof tool === "string"));
  }));
});
