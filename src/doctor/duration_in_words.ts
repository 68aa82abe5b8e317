const UNITS = [
  { name: "day", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** A duration in its largest unit that makes at least two of it, rounded down: "3 h", "90 min", "364 days". */
export function durationInWords(durationMs: number): string {
  const unit = UNITS.find(({ ms }) => durationMs >= 2 * ms) ?? UNITS[3];
  const count = Math.floor(durationMs / unit.ms);
  return `${count} ${unit.name}${unit.name === "day" ? "s" : ""}`;
}
