import { assertEquals, assertNotEquals } from "@std/assert";
import { rateLimitInfo } from "../../../src/frames/live/rate_limit_info.ts";

const DAY = 86_400;
const NOW = 1_800_000_000;
const RESET = NOW + 3600;
const LATER = NOW + DAY;

/** What the API says with every answer. */
const PLAIN: Readonly<Record<string, string>> = {
  status: "allowed",
  reset: `${RESET}`,
  "representative-claim": "five_hour",
  "5h-status": "allowed",
  "5h-utilization": "0.42",
  "5h-reset": `${RESET}`,
  "7d-status": "allowed",
  "7d-utilization": "0.11",
  "7d-reset": `${LATER}`,
};

const FIVE = { utilization: 0.42, resetsAt: RESET, status: "allowed" };
const SEVEN = { utilization: 0.11, resetsAt: LATER, status: "allowed" };
const WINDOWS = { five_hour: FIVE, seven_day: SEVEN };
const LIMIT = { resetsAt: RESET, rateLimitType: "five_hour" };

/** Headers over those, and what `claude -p` makes of them: the info, and what else is in it. */
const CELLS: Readonly<
  Record<string, readonly [Readonly<Record<string, string>> | undefined, object, object]>
> = {
  "nothing": [undefined, { status: "allowed", isUsingOverage: false }, {}],
  "what is allowed": [
    { fallback: "available", "upgrade-paths": "a, b" },
    { status: "allowed", ...LIMIT, isUsingOverage: false },
    { unifiedWindows: WINDOWS },
  ],
  "an overage that may not be": [
    {
      "overage-status": "rejected",
      "overage-disabled-reason": "org_spend_cap_reached",
      "overage-reset": `${LATER}`,
    },
    {
      status: "allowed",
      ...LIMIT,
      overageStatus: "rejected",
      overageResetsAt: LATER,
      overageDisabledReason: "org_level_disabled_until",
      isUsingOverage: false,
    },
    { unifiedWindows: WINDOWS },
  ],
  "an overage": [
    { status: "rejected", "overage-status": "allowed", "overage-in-use": "true" },
    {
      status: "rejected",
      ...LIMIT,
      overageStatus: "allowed",
      isUsingOverage: true,
      overageInUse: true,
    },
    { unifiedWindows: WINDOWS },
  ],
  "a warning of the API's": [
    {
      "5h-surpassed-threshold": "0.9",
      "5h-utilization": "0.93",
      "overage-status": "rejected",
    },
    {
      status: "allowed_warning",
      ...LIMIT,
      utilization: 0.93,
      isUsingOverage: false,
      surpassedThreshold: 0.9,
    },
    {
      overageStatus: "rejected",
      unifiedWindows: {
        five_hour: { ...FIVE, utilization: 0.93, surpassedThreshold: 0.9 },
        seven_day: SEVEN,
      },
    },
  ],
  "a limit that is used faster than its time passes": [
    { status: "allowed_warning", "7d-utilization": "0.8", "7d-reset": `${NOW + 6 * DAY}` },
    {
      status: "allowed_warning",
      resetsAt: NOW + 6 * DAY,
      rateLimitType: "seven_day",
      utilization: 0.8,
      isUsingOverage: false,
    },
    {
      unifiedWindows: {
        five_hour: FIVE,
        seven_day: { ...SEVEN, utilization: 0.8, resetsAt: NOW + 6 * DAY },
      },
    },
  ],
  "a limit that is used as its time passes": [
    { status: "allowed_warning", "7d-utilization": "0.8", "7d-status": "bogus" },
    { status: "allowed", ...LIMIT, isUsingOverage: false },
    {
      unifiedWindows: { five_hour: FIVE, seven_day: { utilization: 0.8, resetsAt: LATER } },
    },
  ],
};

const infoOf = (more: Readonly<Record<string, string>> | undefined) =>
  rateLimitInfo({ headers: more === undefined ? {} : { ...PLAIN, ...more }, now: NOW });

Deno.test("rateLimitInfo() is what claude -p says of limits", () => {
  for (const [name, [more, info, windows]] of Object.entries(CELLS)) {
    assertEquals<unknown>(infoOf(more).info, { ...info, ...windows }, name);
  }
});

Deno.test("rateLimitInfo() is something else where claude -p says it anew", () => {
  const mark = (more: Readonly<Record<string, string>>) => infoOf(more).mark;
  assertEquals(mark({}), mark({}));
  for (
    const header of [
      { reset: `${RESET + 1}` },
      { fallback: "available" },
      { "5h-utilization": "0.43" },
      { "7d-status": "rejected" },
    ] as const
  ) {
    assertNotEquals(mark(header), mark({}));
  }
  assertEquals(mark({ "5h-utilization": "0.421" }), mark({}));
});
