/** The login of a throw-away home. */
export interface LoginOptions {
  /** When the login's access token expires, milliseconds since the epoch; in a year by default. */
  readonly expiresAt?: number;
  /** Scopes of the login; those of a normal subscription by default. */
  readonly scopes?: readonly string[];
  /** The type of the subscription; "max" by default. */
  readonly subscriptionType?: string;
}

/** Long enough that Claude Code does not refresh the token. */
const A_YEAR = 365 * 24 * 3600 * 1000;

/** A port without a listener: programs that use the proxy variables cannot leave loopback. */
const NO_PROXY_HERE = "http://127.0.0.1:1";

/**
 * The maximum length of the path of the folder of all homes, in characters: 107 for the path of a Unix socket, less 93
 * for a home and the longest socket in it.
 */
const LONGEST_FOLDER = 14;

/** TMPDIR, or `/tmp` if TMPDIR is too long for the path of a Unix socket. */
export function shortTemporaryFolder(): string {
  const folder = Deno.env.get("TMPDIR") ?? "/tmp";
  return folder.length > LONGEST_FOLDER ? "/tmp" : folder;
}

/** `.claude.json` of a user who has completed the onboarding, without trusted folders and approved API keys. */
export function onboardedUser(): Readonly<Record<string, unknown>> {
  return {
    numStartups: 12,
    installMethod: "native",
    theme: "dark",
    hasCompletedOnboarding: true,
    lastOnboardingVersion: "2.1.100",
    userID: "5".repeat(64),
    oauthAccount: {
      accountUuid: "11111111-2222-4333-8444-555555555555",
      emailAddress: "user@example.com",
      organizationUuid: "66666666-7777-4888-8999-000000000000",
      organizationName: "Example",
      organizationRole: "admin",
    },
    projects: {},
  };
}

/** `.credentials.json` of a login that no server accepts. */
export function dummyLogin(options: LoginOptions = {}): Readonly<Record<string, unknown>> {
  return {
    claudeAiOauth: {
      accessToken: "sk-ant-oat01-throwaway-access",
      refreshToken: "sk-ant-ort01-throwaway-refresh",
      expiresAt: options.expiresAt ?? Date.now() + A_YEAR,
      scopes: options.scopes ?? ["user:inference", "user:profile", "user:sessions:claude_code"],
      subscriptionType: options.subscriptionType ?? "max",
    },
  };
}

/** An environment without settings of the machine, in which no request can leave loopback. */
export function closedEnvironment(
  home: { readonly path: string; readonly tmp: string },
): Readonly<Record<string, string>> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: home.path,
    TMPDIR: home.tmp,
    USER: "user",
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    HTTP_PROXY: NO_PROXY_HERE,
    HTTPS_PROXY: NO_PROXY_HERE,
    NO_PROXY: "127.0.0.1,localhost",
  };
}

/** Writes a file that only the user can read. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
