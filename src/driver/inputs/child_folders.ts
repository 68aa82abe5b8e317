import { LibcError } from "../../../ffi/errno.ts";
import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { FolderWatch } from "../../../ffi/files/folder_watch.ts";

/** Hears at once when the child writes its files, instead of looking at them now and then. */
export class ChildFolders implements Disposable {
  readonly #watch = FolderWatch.open();
  readonly #watched = new Set<string>();

  /**
   * Watches further folders; what was written there before is no news.
   *
   * @returns whether all that are there are watched
   */
  watch(paths: readonly string[]): boolean {
    const watch = this.#watch;
    if (watch === undefined) return false;
    let isComplete = true;
    for (const path of paths) {
      if (this.#watched.has(path)) continue;
      try {
        watch.add(path);
        this.#watched.add(path);
      } catch (error) {
        if (!(error instanceof LibcError)) throw error;
        // The user may watch as many as the system allows.
        if (error.code !== "ENOENT") isComplete = false;
      }
    }
    return isComplete;
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#watch === undefined ? [] : [{ fd: this.#watch.fd, read: true }];
  }

  /** Whether something has happened in the folders since the last time. */
  heed(ready: readonly Ready[]): boolean {
    if (!ready.some(({ fd }) => fd === this.#watch?.fd)) return false;
    if (this.#watch?.heed()?.isGone !== false) this.#watched.clear();
    return true;
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]();
  }
}
