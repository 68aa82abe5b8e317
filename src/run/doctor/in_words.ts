const BYTES = ["B", "kB", "MB", "GB", "TB"] as const;

/** A number of bytes in its largest unit of which there is one: "512 B", "61.4 kB", "83.1 GB". */
export function bytesInWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${BYTES[power]}`;
}

const TIMES = [
  { name: "day", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** A duration in its largest unit that makes at least two of it, rounded down: "3 h", "90 min", "364 days". */
export function durationInWords(durationMs: number): string {
  const unit = TIMES.find(({ ms }) => durationMs >= 2 * ms) ?? TIMES[3];
  const count = Math.floor(durationMs / unit.ms);
  return `${count} ${unit.name}${unit.name === "day" ? "s" : ""}`;
}
