/**
 * Makes a checkout use the real jsr:@std, as releases do, instead of the packages of `fixtures/std`, which take it from
 * deno-std, an unofficial repack of @std on npm: drops the links, those packages, and what the lock says of them.
 * `deno install --frozen=false` then writes down what JSR says of @std; what the lock says of others stays.
 *
 * For CI alone, because it changes the checkout. It imports nothing: it runs beside the right to publish.
 *
 * @module
 */
interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, unknown>>;
  readonly workspace: Readonly<Record<string, unknown>>;
}

const { links: _, ...config }: Readonly<Record<string, unknown>> = read("deno.json");
write("deno.json", config);

const lock: Lock = read("deno.lock");
const { links: __, ...workspace } = lock.workspace;
const [specifiers, npm] = [lock.specifiers, lock.npm].map(withoutRepack);
write("deno.lock", { ...lock, specifiers, npm, workspace });

Deno.removeSync("fixtures/std", { recursive: true });

function withoutRepack(entries: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(entries).filter(([name]) => !/^(?:npm:)?deno-std@/u.test(name)),
  );
}

function read(path: string) {
  return JSON.parse(Deno.readTextFileSync(path));
}

function write(path: string, content: unknown): void {
  Deno.writeTextFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
}
