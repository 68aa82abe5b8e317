/** How checks are shown. */
export interface ReportStyle {
  /** Whether what shows them knows more than ASCII. */
  readonly unicode: boolean;
  readonly colour: boolean;
  /** Longest line. */
  readonly columns: number;
}

/**
 * The style that suits where the checks are shown.
 *
 * The locale says whether there is UTF-8: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not empty
 * (locale(7)). Colour is for terminals, unless `NO_COLOR` is set and not empty.
 *
 * @param options.columns width of the terminal; absent when it is none
 */
export function reportStyle(options: {
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number | undefined;
}): ReportStyle {
  const { env, columns } = options;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return {
    unicode: /utf-?8/iu.test(locale),
    colour: columns !== undefined && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    columns: columns ?? Infinity,
  };
}
