import { blankText } from "./blanked/blank_text.ts";
import { ROOTS, type Trace } from "./find_traces.ts";
import { projectSlug } from "../../../claude/transcript/files/project_slug.ts";
import { type KnownTraces, NEUTRAL_TRACES, projectPaths } from "./known_traces.ts";

/** What stands in the place of a trace. */
export type Fill = (text: string, kind: Trace["kind"]) => string;

/** Names in paths that tell nothing, and by some of which a program knows what is there. */
const KEPT = new Set(
  (". .. .claude .claude.json .config .local .cache bin lib share node_modules src claude " +
    "projects memory tmp tasks todos plans plugins skills commands agents subagents tool-results " +
    "statsig shell-snapshots settings.json settings.local.json CLAUDE.md MEMORY.md .git " +
    ".mcp.json user project").split(" "),
);
const ID = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[ab][\da-z]{8,16}|\d+)(?=$|\.)/iu;

/**
 * Fills with as many characters as there were, so that what was drawn keeps its place and what was cut its length. Of a
 * project's own files the names stay.
 */
export function fillAlike(known: KnownTraces): Fill {
  const projects = longestFirst(projectPaths(known));
  return (text, kind) => {
    if (kind === "id") return text.replace(/[\da-f]/giu, "0");
    if (kind !== "path") {
      return text === projectSlug(NEUTRAL_TRACES.project) ? text : blankText(text);
    }
    const project = projects.find((path) => isBelow(text, path));
    const rest = project === undefined ? "" : text.slice(project.length);
    const path = project === undefined ? text : project;
    return project === NEUTRAL_TRACES.project ? text : blankedPath(path) + rest;
  };
}

/**
 * Fills with what is the same of any machine: the project is that of nobody, `/home/user/project`, and so are the home
 * folder, the user and the rest. Of a project's own files the names stay.
 */
export function fillAsNobody(known: KnownTraces): Fill {
  const projects = longestFirst(projectPaths(known));
  const homes = longestFirst([...known.homes, NEUTRAL_TRACES.home]);
  const slugs = longestFirst(known.projects.map(projectSlug));
  const homeSlugs = longestFirst([
    ...known.homes.map(projectSlug),
    projectSlug(NEUTRAL_TRACES.home),
  ]);
  const fillSlug = (text: string): string => {
    const project = slugs.find((slug) => isSlugBelow(text, slug));
    if (project !== undefined) {
      return projectSlug(NEUTRAL_TRACES.project) + text.slice(project.length);
    }
    if (isSlugBelow(text, projectSlug(NEUTRAL_TRACES.project))) return text;
    const home = homeSlugs.find((slug) => isSlugBelow(text, slug));
    if (home !== undefined) {
      return projectSlug(NEUTRAL_TRACES.home) + blankText(text.slice(home.length));
    }
    return blankText(text);
  };
  const fillPath = (text: string): string => {
    const project = projects.find((path) => isBelow(text, path));
    if (project !== undefined) {
      const nobodys = project.startsWith("~")
        ? NEUTRAL_TRACES.project.replace(NEUTRAL_TRACES.home, "~")
        : NEUTRAL_TRACES.project;
      return nobodys + text.slice(project.length);
    }
    const home = homes.find((path) => isBelow(text, path)) ??
      /^\/(?:root|(?:home|Users)\/[^/]+)(?=$|\/)/u.exec(text)?.[0];
    if (home === undefined) return blankedPath(text, fillSlug);
    return NEUTRAL_TRACES.home + blankedNames(text.slice(home.length), fillSlug);
  };
  return (text, kind) => {
    switch (kind) {
      case "path":
        return /^[A-Za-z]:/u.test(text) ? blankedPath(text) : fillPath(text);
      case "slug":
        return fillSlug(text);
      case "user":
        return NEUTRAL_TRACES.user;
      case "host":
        return "host";
      case "word":
        return "someone";
      case "email":
        return "user@example.com";
      case "id":
        return text.replace(/[\da-f]/giu, "0");
    }
  };
}

function longestFirst(paths: readonly string[]): readonly string[] {
  return paths.toSorted((one, other) => other.length - one.length);
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function isSlugBelow(slug: string, folder: string): boolean {
  return slug === folder || slug.startsWith(`${folder}-`);
}

const ROOT = new RegExp(`^/(?:${ROOTS.join("|")})(?=$|/)|^[A-Za-z]:(?:\\\\+|/)Users`, "u");

/** A path whose names say nothing but where such a folder is. */
function blankedPath(path: string, slug: (name: string) => string = blankText): string {
  const [root = ""] = ROOT.exec(path) ?? [];
  return root + blankedNames(path.slice(root.length), slug);
}

function blankedNames(path: string, slug: (name: string) => string): string {
  return path.replace(/[^/\\]+/gu, (name) => {
    if (KEPT.has(name) || ID.test(name)) return name;
    return name.startsWith("-") ? slug(name) : blankText(name);
  });
}
