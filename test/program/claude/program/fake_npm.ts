import { writeScript } from "../../../write_script.ts";

/** A program that says it is a version of Claude Code, in the shell's language. */
export function saysVersion(version: string): string {
  return `#!/bin/sh\necho '${version} (Claude Code)'\n`;
}

/**
 * Puts an `npm` into a folder of PATH. It knows \`npm view … versions --json\` and \`npm install --prefix FOLDER … NAME@VERSION\`,
 * writes each command line to `calls`, and serves what is in `releases/VERSION`.
 *
 * @param options.before shell that runs first, with the version as $version, or "" for the list, and the folder as $to
 */
export async function putFakeNpm(
  folder: string,
  { versions, before }: { readonly versions: readonly string[]; readonly before: string },
): Promise<void> {
  await writeScript(
    `${folder}/bin/npm`,
    `#!/bin/sh
printf '%s\\n' "$*" >> '${folder}/calls'
version='' to=''
if [ "$1" = install ]; then
  to="$3"
  for each; do case "$each" in @*@*) package="\${each%@*}" version="\${each##*@}" ;; esac; done
fi
${before}
if [ "$1" = view ]; then
  cat <<'LIST'
${JSON.stringify(versions)}
LIST
  exit
fi
case "$*" in *--ignore-scripts*) ;; *) exit 9 ;; esac
[ "$version" = latest ] && version='${versions.at(-1) ?? ""}'
if [ ! -e '${folder}/releases/'"$version" ]; then
  printf 'npm error code ETARGET\\nnpm error notarget No matching version found\\n' >&2
  exit 1
fi
mkdir -p "$to/node_modules/$package" "$to/npm-cache"
cp '${folder}/releases/'"$version" "$to/node_modules/$package/claude"
`,
  );
}
