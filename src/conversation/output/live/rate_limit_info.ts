import { definedFields } from "../../../defined_fields.ts";
import type { ApiLimits } from "../../control/input.ts";

/** The `rate_limit_info` of an event. An event with the same `mark` as the previous event is not printed. */
export interface RateLimitInfo {
  readonly info: Readonly<Record<string, unknown>>;
  readonly mark: string;
}

/** A limit: its used share, and its reset time in seconds since the epoch. */
interface Window {
  readonly utilization?: number | undefined;
  readonly resetsAt?: number | undefined;
  readonly status?: string | undefined;
  readonly surpassedThreshold?: number | undefined;
}

/** The limits, and their names in headers. */
const WINDOWS = {
  five_hour: "5h",
  seven_day: "7d",
  seven_day_overage_included: "7d_oi",
  overage: "overage",
} as const;
type WindowName = keyof typeof WINDOWS;

const STATUSES: readonly (string | undefined)[] = ["allowed", "allowed_warning", "rejected"];

/** Claude Code itself warns if this share of a limit is used before this share of its time has passed. */
const PACES: readonly {
  readonly name: WindowName;
  readonly seconds: number;
  readonly limits: readonly (readonly [used: number, passed: number])[];
}[] = [
  { name: "five_hour", seconds: 5 * 3600, limits: [[0.9, 0.72]] },
  { name: "seven_day", seconds: 7 * 86_400, limits: [[0.75, 0.6], [0.5, 0.35], [0.25, 0.15]] },
];

/** Builds `rate_limit_info` from the headers of an API response, without the fields about budgets of teams. */
export function rateLimitInfo({ headers, now }: ApiLimits): RateLimitInfo {
  const windows = windowsOf(headers);
  const status = headers["status"] || "allowed";
  const isAllowed = status === "allowed" || status === "allowed_warning";
  const warning = isAllowed ? warningOf(windows, now) : undefined;
  const overageStatus = headers["overage-status"] || undefined;
  const reason = headers["overage-disabled-reason"] || undefined;
  const info = definedFields({
    ...(warning ?? {
      status: isAllowed ? "allowed" : status,
      resetsAt: secondsOf(headers["reset"]),
      rateLimitType: headers["representative-claim"] || undefined,
    }),
    overageStatus,
    overageResetsAt: secondsOf(headers["overage-reset"]),
    overageDisabledReason: reason === "org_spend_cap_reached" ? "org_level_disabled_until" : reason,
    isUsingOverage: status === "rejected" &&
      (overageStatus === "allowed" || overageStatus === "allowed_warning"),
    overageInUse: headers["overage-in-use"] === "true" ? true : undefined,
    surpassedThreshold: warning === undefined
      ? undefined
      : windows[warning.rateLimitType]?.surpassedThreshold,
  });
  // A change of these headers also prints an event, although the event does not hold them.
  const unprinted = [headers["fallback"] === "available", headers["upgrade-paths"]];
  const rounded = Object.entries(windows)
    .map(([name, window]) => [name, { ...window, utilization: percent(window.utilization) }]);
  return {
    info: rounded.length > 0 ? { ...info, unifiedWindows: windows } : info,
    mark: JSON.stringify([info, unprinted, rounded]),
  };
}

function windowsOf(
  headers: ApiLimits["headers"],
): Readonly<Partial<Record<WindowName, Window>>> {
  return Object.fromEntries(
    Object.entries(WINDOWS).flatMap(([name, key]) => {
      const status = headers[`${key}-status`];
      const window: Window = definedFields({
        utilization: numberOf(headers[`${key}-utilization`]),
        resetsAt: secondsOf(headers[`${key}-reset`]),
        status: name !== "overage" && STATUSES.includes(status) ? status : undefined,
        surpassedThreshold: numberOf(headers[`${key}-surpassed-threshold`]),
      });
      const { utilization, resetsAt, surpassedThreshold } = window;
      const isKnown = surpassedThreshold !== undefined ||
        (utilization !== undefined && resetsAt !== undefined);
      return isKnown ? [[name, window]] : [];
    }),
  );
}

/**
 * Claude Code's warning, if any: about a limit that the API names, or else about a limit that is used up faster than
 * its time passes.
 */
function warningOf(windows: ReturnType<typeof windowsOf>, now: number) {
  const names = Object.keys(WINDOWS) as readonly WindowName[];
  const warned = names.find((name) => windows[name]?.surpassedThreshold !== undefined) ??
    PACES.find(({ name, seconds, limits }) => {
      const { utilization, resetsAt } = windows[name] ?? {};
      if (utilization === undefined || resetsAt === undefined) return false;
      const gone = Math.min(1, Math.max(0, (now - (resetsAt - seconds)) / seconds));
      return limits.some(([used, passed]) => utilization >= used && gone <= passed);
    })?.name;
  return warned === undefined ? undefined : {
    status: "allowed_warning",
    resetsAt: windows[warned]?.resetsAt,
    rateLimitType: warned,
    utilization: windows[warned]?.utilization,
  };
}

function numberOf(header: string | undefined): number | undefined {
  const value = Number(header || NaN);
  return Number.isFinite(value) ? value : undefined;
}

function secondsOf(header: string | undefined): number | undefined {
  const seconds = numberOf(header);
  return seconds === undefined ? undefined : Math.round(seconds);
}

function percent(utilization: number | undefined): number | undefined {
  return utilization === undefined ? undefined : Math.round(utilization * 100);
}
