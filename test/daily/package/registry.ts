import { untar } from "./untar.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";

/** A version of a package, as a registry keeps it. */
export interface Published {
  readonly version: string;
  /** Paths of modules by what they are imported as: `.`, `./library`. */
  readonly exports: Readonly<Record<string, string>>;
  /** Content by path, which begins with a slash. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/** A registry for packages on loopback, as Deno knows JSR. */
export interface Registry extends AsyncDisposable {
  /** What to set `JSR_URL` to. */
  readonly url: string;
  /** One version each of the packages it has, by name: `@std/jsonc`. What is published is added. */
  readonly packages: Map<string, Published>;
}

/** Starts a registry that takes whatever is published and serves it at once. */
export function startRegistry(): Registry {
  const packages = new Map<string, Published>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => answer(request, packages),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    packages,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const API = new URLPattern({ pathname: "/api/scopes/:scope/packages/:name{/versions/:version}?" });
const VERSIONS = new URLPattern({ pathname: "/:scope/:name/meta.json" });
const MANIFEST = new URLPattern({ pathname: "/:scope/:name/:version([^/]+)_meta.json" });
const FILE = new URLPattern({ pathname: "/:scope/:name/:version/:path+" });

async function answer(
  request: Request,
  packages: Map<string, Published>,
): Promise<Response> {
  const { scope = "", name = "", version = "" } = API.exec(request.url)?.pathname.groups ?? {};
  if (scope !== "") {
    if (request.method === "POST") {
      packages.set(`@${scope}/${name}`, await unpack(request, version));
      return Response.json({ id: "1", status: "success" });
    }
    // Any package may be published to, and no version has been yet.
    return version === ""
      ? Response.json({})
      : Response.json({ code: "versionNotFound", message: "No such version" }, { status: 404 });
  }
  for (const [pattern, give] of GIVEN) {
    const groups = pattern.exec(request.url)?.pathname.groups;
    const published = packages.get(`${groups?.scope}/${groups?.name}`);
    if (groups !== undefined && published !== undefined) {
      return await give(published, { name: groups.name ?? "", path: `/${groups.path}` });
    }
  }
  return new Response("Not found", { status: 404 });
}

type Give = (
  published: Published,
  wanted: { readonly name: string; readonly path: string },
) => Response | Promise<Response>;

const GIVEN: readonly (readonly [URLPattern, Give])[] = [
  [
    VERSIONS,
    ({ version }, { name }) =>
      Response.json({ scope: "any", name, latest: version, versions: { [version]: {} } }),
  ],
  [MANIFEST, async ({ exports, files }) => {
    const manifest: Record<string, { readonly size: number; readonly checksum: string }> = {};
    for (const [path, content] of files) {
      manifest[path] = { size: content.length, checksum: `sha256-${await sha256(content)}` };
    }
    return Response.json({ manifest, exports });
  }],
  [FILE, ({ files }, { path }) => {
    const content = files.get(path);
    const type = TYPES.find(([end]) => path.endsWith(end))?.[1] ?? "application/octet-stream";
    return content === undefined
      ? new Response("Not found", { status: 404 })
      : new Response(content, { headers: { "content-type": type } });
  }],
];

const TYPES = [[".ts", "text/typescript"], [".js", "text/javascript"]] as const;

/** Takes apart what `deno publish` sends: a compressed archive, its config file in it. */
async function unpack(request: Request, version: string): Promise<Published> {
  const stream = request.body ?? new Blob([]).stream();
  const archive = await new Response(stream.pipeThrough(new DecompressionStream("gzip"))).bytes();
  const files = untar(archive);
  const config = files.get(new URL(request.url).searchParams.get("config") ?? "");
  const { exports } = JSON.parse(new TextDecoder().decode(config));
  return { version, exports, files };
}
