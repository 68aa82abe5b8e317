/** Options of {@linkcode parseArgs} that this project uses. */
export interface ParseOptions<B extends string, S extends string, C extends string> {
  boolean?: ReadonlyArray<B>;
  string?: ReadonlyArray<S>;
  collect?: ReadonlyArray<C>;
  default?: { [K in B | S]?: unknown };
  "--"?: boolean;
  stopEarly?: boolean;
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** Parses command-line arguments, minimist style. */
export declare function parseArgs<
  B extends string = never,
  S extends string = never,
  C extends string = never,
>(
  args: ReadonlyArray<string>,
  options?: ParseOptions<B, S, C>,
):
  & { [K in B]: boolean }
  & { [K in Exclude<S, C>]?: string }
  & { [K in Extract<S, C>]: string[] }
  & { _: Array<string | number>; "--"?: string[] };
