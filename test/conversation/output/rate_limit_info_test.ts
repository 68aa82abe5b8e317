import { assertEquals } from "@std/assert";
import { rateLimitInfo } from "../../../src/conversation/output/live/rate_limit_info.ts";

const DAY = 86_400;
const NOW = 1_800_000_000;
const RESET = NOW + 3600;
const LATER = NOW + DAY;

/** The headers of every answer. */
const PLAIN: Headers = {
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

const ALLOWED = { status: "allowed", ...LIMIT, isUsingOverage: false };
const WARNING = { status: "allowed_warning", isUsingOverage: false };
const LATE = { utilization: 0.8, resetsAt: NOW + 6 * DAY };

type Headers = Readonly<Record<string, string>>;

/** Headers over those, and the info that `claude -p` makes of them. */
const ROWS: Readonly<Record<string, readonly [Headers | undefined, object]>> = {
  "no headers": [undefined, { status: "allowed", isUsingOverage: false }],
  "allowed": [
    { fallback: "available", "upgrade-paths": "a, b" },
    { ...ALLOWED, unifiedWindows: WINDOWS },
  ],
  "a rejected overage": [
    {
      "overage-status": "rejected",
      "overage-disabled-reason": "org_spend_cap_reached",
      "overage-reset": `${LATER}`,
    },
    {
      ...ALLOWED,
      overageStatus: "rejected",
      overageResetsAt: LATER,
      overageDisabledReason: "org_level_disabled_until",
      unifiedWindows: WINDOWS,
    },
  ],
  "an overage in use": [
    { status: "rejected", "overage-status": "allowed", "overage-in-use": "true" },
    {
      ...{ status: "rejected", ...LIMIT, overageStatus: "allowed" },
      ...{ isUsingOverage: true, overageInUse: true, unifiedWindows: WINDOWS },
    },
  ],
  "a warning of the API": [
    { "5h-surpassed-threshold": "0.9", "5h-utilization": "0.93", "overage-status": "rejected" },
    {
      ...{ ...WARNING, ...LIMIT, utilization: 0.93, surpassedThreshold: 0.9 },
      overageStatus: "rejected",
      unifiedWindows: {
        five_hour: { ...FIVE, utilization: 0.93, surpassedThreshold: 0.9 },
        seven_day: SEVEN,
      },
    },
  ],
  "a limit used faster than its time passes": [
    { status: "allowed_warning", "7d-utilization": "0.8", "7d-reset": `${LATE.resetsAt}` },
    {
      ...{ ...WARNING, ...LATE, rateLimitType: "seven_day" },
      unifiedWindows: { five_hour: FIVE, seven_day: { ...SEVEN, ...LATE } },
    },
  ],
  "a limit used as its time passes": [
    { status: "allowed_warning", "7d-utilization": "0.8", "7d-status": "bogus" },
    {
      ...ALLOWED,
      unifiedWindows: { five_hour: FIVE, seven_day: { utilization: 0.8, resetsAt: LATER } },
    },
  ],
};

const infoOf = (more: Headers | undefined) =>
  rateLimitInfo({ headers: more === undefined ? {} : { ...PLAIN, ...more }, now: NOW });

Deno.test("rateLimitInfo() gives the fields of claude -p", () => {
  for (const [name, [headers, info]] of Object.entries(ROWS)) {
    assertEquals<unknown>(infoOf(headers).info, info, name);
  }
});

Deno.test("rateLimitInfo() is news where claude -p prints it again", () => {
  const { mark } = infoOf({});
  const rows = [
    [{}, false],
    [{ "5h-utilization": "0.421" }, false],
    [{ "5h-utilization": "0.43" }, true],
    [{ reset: `${RESET + 1}` }, true],
    [{ fallback: "available" }, true],
    [{ "7d-status": "rejected" }, true],
  ] as const;
  for (const [headers, isNews] of rows) {
    assertEquals(infoOf(headers).mark !== mark, isNews, JSON.stringify(headers));
  }
});
