import type { HeardLimits } from "../../control/input.ts";

/** What a `rate_limit_event` says, and by what a later one is known to say something else. */
export interface RateLimitInfo {
  readonly info: Readonly<Record<string, unknown>>;
  readonly mark: string;
}

/** How much of a limit is used, and what the API says of it. */
interface Window {
  readonly utilization?: number | undefined;
  readonly resetsAt?: number | undefined;
  readonly status?: string | undefined;
  readonly surpassedThreshold?: number | undefined;
}

/** The limits, and how headers name them. */
const WINDOWS = {
  five_hour: "5h",
  seven_day: "7d",
  seven_day_overage_included: "7d_oi",
  overage: "overage",
} as const;
type WindowName = keyof typeof WINDOWS;

const STATUSES: readonly (string | undefined)[] = ["allowed", "allowed_warning", "rejected"];

/** Where Claude Code warns by itself: so much of a limit is used before so much of its time has passed. */
const PACES: readonly {
  readonly name: WindowName;
  readonly seconds: number;
  readonly limits: readonly (readonly [used: number, passed: number])[];
}[] = [
  { name: "five_hour", seconds: 5 * 3600, limits: [[0.9, 0.72]] },
  { name: "seven_day", seconds: 7 * 86_400, limits: [[0.75, 0.6], [0.5, 0.35], [0.25, 0.15]] },
];

/** What `claude -p` makes of what the API says of limits, but for what is about budgets of teams. */
export function rateLimitInfo({ headers, now }: HeardLimits): RateLimitInfo {
  const windows = windowsOf(headers);
  const said = headers["status"] || "allowed";
  const isAllowed = said === "allowed" || said === "allowed_warning";
  const warning = isAllowed ? warningOf(windows, now) : undefined;
  const overageStatus = headers["overage-status"] || undefined;
  const reason = headers["overage-disabled-reason"] || undefined;
  const info = defined({
    ...(warning ?? {
      status: isAllowed ? "allowed" : said,
      resetsAt: secondsOf(headers["reset"]),
      rateLimitType: headers["representative-claim"] || undefined,
    }),
    overageStatus,
    overageResetsAt: secondsOf(headers["overage-reset"]),
    overageDisabledReason: reason === "org_spend_cap_reached" ? "org_level_disabled_until" : reason,
    isUsingOverage: said === "rejected" &&
      (overageStatus === "allowed" || overageStatus === "allowed_warning"),
    overageInUse: headers["overage-in-use"] === "true" ? true : undefined,
    surpassedThreshold: warning === undefined
      ? undefined
      : windows[warning.rateLimitType]?.surpassedThreshold,
  });
  const untold = [headers["fallback"] === "available", headers["upgrade-paths"]];
  const rounded = Object.entries(windows)
    .map(([name, window]) => [name, { ...window, utilization: percent(window.utilization) }]);
  return {
    info: rounded.length > 0 ? { ...info, unifiedWindows: windows } : info,
    mark: JSON.stringify([info, untold, rounded]),
  };
}

function windowsOf(
  headers: HeardLimits["headers"],
): Readonly<Partial<Record<WindowName, Window>>> {
  return Object.fromEntries(
    Object.entries(WINDOWS).flatMap(([name, key]) => {
      const status = headers[`${key}-status`];
      const window: Window = defined({
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

/** The limit that Claude Code warns of: one of which the API says so, else one that is used faster than time passes. */
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

function defined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Fields;
}
