/** What the answers of a server are made of. */
export interface ServeContext {
  readonly version: string;
}
