import { cString } from "./c_string.ts";
import { checked } from "./errno.ts";
import { closeFd, readFd } from "./fd.ts";
import { libc } from "./libc.ts";

const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;

const IN_MODIFY = 0x002;
const IN_CREATE = 0x100;
const IN_DELETE = 0x200;
const IN_ONLYDIR = 0x01000000;

/** Most bytes of one read: whatever happens in a folder keeps nothing else from being heard. */
const MAX_READ = 65536;

/** Becomes readable whenever something is made, written to or removed in one of some folders (inotify(7)). */
export class FolderWatch implements Disposable {
  /** The fd to be polled for reading. */
  readonly fd: number;
  readonly #buffer = new Uint8Array(MAX_READ);

  /** @throws LibcError EMFILE when the user has too many of these (`/proc/sys/fs/inotify/max_user_instances`) */
  constructor() {
    this.fd = checked(libc().inotify_init1(IN_NONBLOCK | IN_CLOEXEC), {
      call: "inotify_init1",
      action: "watch folders",
    });
  }

  /**
   * Watches one more folder.
   *
   * @throws LibcError ENOENT when there is none, ENOSPC when the user watches too many
   */
  add(path: string): void {
    const events = IN_MODIFY | IN_CREATE | IN_DELETE | IN_ONLYDIR;
    checked(libc().inotify_add_watch(this.fd, cString(path), events), {
      call: "inotify_add_watch",
      action: "watch the folder",
      path,
    });
  }

  /** Forgets what has happened so far: who was woken looks at the folders themselves. */
  heed(): void {
    readFd(this.fd, this.#buffer);
  }

  [Symbol.dispose](): void {
    closeFd(this.fd);
  }
}
