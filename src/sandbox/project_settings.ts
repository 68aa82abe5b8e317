import { type JsonObject, readJsonObject } from "./json_object.ts";

/** Where an administrator puts settings for everybody on Linux. */
const MANAGED_SETTINGS = "/etc/claude-code/managed-settings.json";

/**
 * The settings that a working directory brings along: the managed ones, and those in `.claude` of the directory
 * and of every folder above it, which is at least what Claude Code reads.
 */
export function projectSettings(cwd: string): readonly JsonObject[] {
  const found = [readJsonObject(MANAGED_SETTINGS)];
  for (let dir = cwd;; dir = dir.slice(0, dir.lastIndexOf("/"))) {
    found.push(readJsonObject(`${dir}/.claude/settings.json`));
    found.push(readJsonObject(`${dir}/.claude/settings.local.json`));
    if (dir === "" || dir === "/") break;
  }
  return found.filter((settings) => settings !== undefined);
}
