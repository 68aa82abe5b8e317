const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A number of bytes in its largest unit of which there is one: "512 B", "61.4 kB", "83.1 GB". */
export function bytesInWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}
