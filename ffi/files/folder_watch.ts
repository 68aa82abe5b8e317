import { cString } from "../c_string.ts";
import { checked, LibcError } from "../errno.ts";
import { closeFd, readFd } from "../descriptors/fd.ts";
import { libc } from "../libc.ts";

const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;

const IN_MODIFY = 0x002;
const IN_MOVED_TO = 0x80;
const IN_Q_OVERFLOW = 0x4000;
const IN_CREATE = 0x100;
const IN_DELETE = 0x200;
const IN_IGNORED = 0x8000;
const IN_ONLYDIR = 0x01000000;

/** The limits of one `readChanges()`, so that a busy folder does not block other inputs. */
const MAX_READ = 65536;
const MOST_READS = 16;

/** Changes in the watched folders. */
export interface FolderChanges {
  /**
   * The names of written files, in order, as they were when the files were opened. Several successive writes to the
   * same name may appear once.
   */
  readonly written: readonly string[];
  /** True if an entry was created, moved into a folder or removed. */
  readonly changed: boolean;
  /** True if a watched folder was removed. A new folder of the same name is not watched. */
  readonly isGone: boolean;
}

/** Watches folders: its fd becomes readable when an entry is created, moved there, written or removed (inotify(7)). */
export class FolderWatch implements Disposable {
  /** The fd to poll for reading. */
  readonly fd: number;
  readonly #buffer = new Uint8Array(MAX_READ);

  /** @throws LibcError EMFILE if the user has too many watches (`/proc/sys/fs/inotify/max_user_instances`) */
  constructor() {
    this.fd = checked(libc().inotify_init1(IN_NONBLOCK | IN_CLOEXEC), {
      call: "inotify_init1",
      action: "watch folders",
    });
  }

  /** Returns a watch, or undefined if the user has too many. */
  static open(): FolderWatch | undefined {
    try {
      return new FolderWatch();
    } catch (error) {
      if (error instanceof LibcError) return undefined;
      throw error;
    }
  }

  /**
   * Watches one more folder.
   *
   * @throws LibcError ENOENT if it does not exist, ENOSPC if the user watches too many folders
   */
  add(path: string): void {
    const events = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR;
    checked(libc().inotify_add_watch(this.fd, cString(path), events), {
      call: "inotify_add_watch",
      action: "watch the folder",
      path,
    });
  }

  /** Returns the changes since the last call; undefined if there were too many and some are lost. */
  readChanges(): FolderChanges | undefined {
    const written: string[] = [];
    let changed = false;
    let isGone = false;
    let isComplete = true;
    for (let round = 0; round < MOST_READS; round++) {
      const count = readFd(this.fd, this.#buffer);
      if (typeof count !== "number") return isComplete ? { written, changed, isGone } : undefined;
      for (const { mask, name } of eventsIn(this.#buffer.subarray(0, count))) {
        if ((mask & IN_Q_OVERFLOW) !== 0) isComplete = false;
        if ((mask & IN_IGNORED) !== 0) isGone = true;
        if ((mask & IN_MODIFY) !== 0) written.push(name);
        else changed = true;
      }
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    closeFd(this.fd);
  }
}

/** Parses `struct inotify_event`s: i32 wd, u32 mask, u32 cookie, u32 len, and a name of `len` bytes, padded with NULs. */
function* eventsIn(
  bytes: Uint8Array<ArrayBuffer>,
): Generator<{ readonly mask: number; readonly name: string }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const decoder = new TextDecoder();
  for (let offset = 0; offset < bytes.length;) {
    const length = view.getUint32(offset + 12, true);
    const name = bytes.subarray(offset + 16, offset + 16 + length);
    const end = name.indexOf(0);
    yield {
      mask: view.getUint32(offset + 4, true),
      name: decoder.decode(end === -1 ? name : name.subarray(0, end)),
    };
    offset += 16 + length;
  }
}
