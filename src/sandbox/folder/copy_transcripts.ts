import type { FolderContents } from "./folder_contents.ts";
import { copySession } from "../transcripts/copy_session.ts";
import { placeTranscript } from "../transcripts/place_transcript.ts";

/**
 * Copies what there is of a session that goes on into the config dir of a run.
 *
 * @returns bytes of transcripts, by their path below `projects/`; none when there is no such session
 */
export function copyTranscripts(
  { resume, begun, shortened, userConfigDir }: Pick<
    FolderContents,
    "resume" | "begun" | "shortened" | "userConfigDir"
  >,
  to: string,
): ReadonlyMap<string, number> {
  if (begun !== undefined) {
    return new Map(
      [begun, ...begun.besides ?? []].map(({ path, text: content }) =>
        [path, placeTranscript(to, { path, content })] as const
      ),
    );
  }
  if (resume === undefined) return new Map();
  return copySession(resume, {
    from: userConfigDir,
    to,
    ...(shortened === undefined ? {} : { shortened }),
  });
}
