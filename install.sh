#!/bin/sh
# Installs, upgrades or removes claude-print for the user who runs it.
#
#   curl -fsSL https://github.com/claude-print/claude-print/releases/latest/download/install.sh | sh
#
# All that is done stands in functions, and the last line calls them: a script that was cut off
# on its way does nothing.
set -eu

readonly RELEASES=https://github.com/claude-print/claude-print/releases
readonly ASSET=claude-print-x86_64-linux
readonly GLIBC_NEEDED=34
newline='
'

usage() {
  cat <<'TEXT'
Usage: sh install.sh [flags]

Installs the newest claude-print to ~/.local/bin, or upgrades the one there.

Flags:
  --version <version>   Install this version, such as 0.1.0
  --prefix <folder>     Install to <folder>/bin instead of ~/.local/bin, and the
                        manual page and completions to <folder>/share
  --from <file-or-url>  Install this executable, for mirrors and machines that
                        have no network; its checksum, as sha256sum prints it,
                        must be beside it, with .sha256 added to its name
  --uninstall           Remove what was installed, and nothing else
  --help                Print this text and exit

The manual page and completions for bash, zsh and fish are installed where the
user has folders for them, and the agent file for NEEDLE if there is ~/.needle.

Environment:
  CLAUDE_PRINT_RELEASES   Base URL of a mirror of the releases, instead of
                          https://github.com/claude-print/claude-print/releases
  HTTPS_PROXY, NO_PROXY   are heeded by curl and wget
TEXT
}

# Whether somebody reads it is no reason to stop.
say() {
  printf '%s\n' "$*" 2>/dev/null || :
}

warn() {
  printf 'install.sh: Warning: %s\n' "$*" >&2 || :
}

# fail <what failed> <what to do about it>
fail() {
  printf 'install.sh: %s\n  %s\n' "$1" "$2" >&2
  exit 1
}

usage_error() {
  printf 'install.sh: Cannot read the command line: %s\n  %s\n' "$1" \
    '"sh install.sh --help" lists the flags' >&2
  exit 2
}

parse_arguments() {
  wanted='' prefix='' from='' action=install
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --prefix | --from)
        if [ $# -lt 2 ] || [ -z "$2" ]; then usage_error "$1 needs a value"; fi
        set_option "$1" "$2"
        shift
        ;;
      --version=?* | --prefix=?* | --from=?*) set_option "${1%%=*}" "${1#*=}" ;;
      --uninstall) action=uninstall ;;
      --help | -h) action=help ;;
      *) usage_error "install.sh does not take \"$1\"" ;;
    esac
    shift
  done
}

set_option() {
  case $1 in
    --version)
      wanted=${2#v}
      case $wanted in
        [0-9]*) ;;
        *) usage_error "\"$2\" is no version" ;;
      esac
      case $wanted in
        *[!0-9A-Za-z.+-]*) usage_error "\"$2\" is no version" ;;
      esac
      ;;
    --prefix) prefix=$(absolute "$2") ;;
    --from)
      from=$2
      case $from in -*) from=./$from ;; esac
      ;;
  esac
}

absolute() {
  case $1 in
    / | //*) printf / ;;
    /*) printf '%s' "${1%/}" ;;
    *) printf '%s/%s' "$(pwd)" "${1%/}" ;;
  esac
}

# Where things go, and where it is written down what was put there.
find_places() {
  if [ -n "$prefix" ]; then
    bin=${prefix%/}/bin
    data=${prefix%/}/share
    man_root=$data/man bash_root=$data/bash-completion zsh_folder=$data/zsh/site-functions
    fish_root=$data/fish fish_folder=$fish_root/vendor_completions.d
  elif [ -n "${HOME:-}" ]; then
    bin=$HOME/.local/bin
    data=${XDG_DATA_HOME:-$HOME/.local/share}
    man_root=$data/man bash_root=$data/bash-completion zsh_folder=$(find_zsh_folder)
    fish_root=${XDG_CONFIG_HOME:-$HOME/.config}/fish fish_folder=$fish_root/completions
  else
    fail 'Cannot find a folder to install to: HOME is not set' \
      'Set HOME, or name a folder with --prefix'
  fi
  target=$bin/claude-print
  record=$data/claude-print/installed
  case $target$record in
    *"$newline"*)
      fail 'Cannot use a folder with a line break in its name' 'Name another one with --prefix'
      ;;
  esac
}

find_zsh_folder() {
  for folder in "${ZDOTDIR:-$HOME}/.zfunc" "$HOME/.zfunc" "${ZDOTDIR:-$HOME/.zsh}/completions" \
    "$data/zsh/site-functions"; do
    if [ -d "$folder" ]; then
      printf '%s' "$folder"
      return
    fi
  done
}

check_platform() {
  system=$(uname -s) machine=$(uname -m)
  if [ "$system" != Linux ]; then
    fail "Cannot install on $system: claude-print runs on x86_64 Linux with glibc" \
      'On other systems a Linux container or virtual machine can run it'
  fi
  case $machine in
    x86_64 | amd64) ;;
    *)
      fail "Cannot install on $machine: claude-print runs on x86_64 Linux with glibc" \
        'There is no executable for this processor yet'
      ;;
  esac
  needed="claude-print needs glibc 2.$GLIBC_NEEDED or newer"
  glibc=$(find_glibc)
  case $glibc in
    unknown) ;; # The new program tells whether it starts.
    musl)
      fail "Cannot install on this Linux: its libc is musl, and $needed" \
        'Use a distribution with glibc, such as Debian, Ubuntu or Fedora, or a container of one'
      ;;
    *)
      minor=${glibc#2.}
      minor=${minor%%.*}
      if [ "$minor" -lt "$GLIBC_NEEDED" ]; then
        fail "Cannot install on this Linux: its glibc is $glibc, and $needed" \
          'Use a newer release of the distribution, such as Debian 12, Ubuntu 22.04 or RHEL 9'
      fi
      ;;
  esac
}

# Prints "2.36", "musl" or "unknown", by what the machine says of itself.
find_glibc() {
  said=$(getconf GNU_LIBC_VERSION 2>/dev/null) || said=''
  case $said in
    'glibc '2.[0-9]*)
      printf '%s' "${said#glibc }"
      return
      ;;
  esac
  # The ldd of musl says what it is on stderr, and fails.
  said=$(ldd --version 2>&1) || :
  case $said in
    *musl*)
      printf musl
      return
      ;;
  esac
  said=${said%%"$newline"*}
  said=${said##* }
  case $said in
    2.[0-9]*) printf '%s' "$said" ;;
    *) printf unknown ;;
  esac
}

check_tools() {
  for tool in cat chmod cp mkdir mv rm rmdir "$@"; do
    if ! has "$tool"; then
      fail "Cannot install: there is no \"$tool\" on PATH" 'Install it, or add its folder to PATH'
    fi
  done
  if has sha256sum; then
    hasher=sha256sum
  elif has shasum; then
    hasher=shasum
  elif has openssl; then
    hasher=openssl
  else
    fail 'Cannot verify anything: there is none of sha256sum, shasum and openssl on PATH' \
      'Install one of them; coreutils has sha256sum'
  fi
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Prints the SHA-256 of a file in hex.
sha256_of() {
  case $hasher in
    sha256sum) hashed=$(sha256sum <"$1") ;;
    shasum) hashed=$(shasum -a 256 <"$1") ;;
    openssl) hashed=$(openssl dgst -sha256 -r <"$1") ;;
  esac
  printf '%s' "${hashed%%[ *]*}"
}

# Runs a command that may take long: the shell must be free to hear a signal meanwhile.
attended() {
  "$@" </dev/null 3>&- &
  child=$!
  attended_code=0
  wait "$child" || attended_code=$?
  child=''
  return "$attended_code"
}

# shellcheck disable=SC2317,SC2329 # Traps call it.
on_signal() {
  trap '' HUP INT TERM
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null || :
    wait "$child" 2>/dev/null || :
  fi
  # The signal came while something was running whose stderr goes elsewhere.
  printf 'install.sh: %s\n' 'Interrupted: nothing was changed' >&3 || :
  exit "$1"
}

# Whatever the end is, what is not installed does not stay.
# shellcheck disable=SC2317,SC2329 # A trap calls it.
clean_up() {
  [ -z "$stage" ] || rm -rf "$stage"
  [ "$committed" = yes ] || remove_folders "$made"
}

# Makes a folder and those above it, and remembers which were missing.
make_folder() {
  if [ -d "$1" ]; then return 0; fi
  above=${1%/*}
  make_folder "${above:-/}" || return
  mkdir "$1" || return
  made="$1$newline$made"
}

# Removes the folders of a list, a line each, as far as they are empty.
remove_folders() {
  printf '%s' "$1" | while IFS= read -r folder; do
    [ ! -d "$folder" ] || rmdir "$folder" 2>/dev/null || :
  done
}

# A private folder on the same disk as the target, so that moving from it is atomic.
make_stage() {
  if [ -d "$target" ]; then
    fail "Cannot install to $target: it is a folder" \
      'Remove it, or name another folder with --prefix'
  fi
  if ! make_folder "$bin" 2>/dev/null; then
    fail "Cannot make the folder $bin" \
      'Make it yourself, or name one you may write to with --prefix'
  fi
  for left in "$bin"/.claude-print-install.*; do
    # Only a killed installer leaves its folder.
    if [ -d "$left" ] && [ ! -d "/proc/${left##*.}" ]; then rm -rf "$left"; fi
  done
  if ! (umask 077 && mkdir "$bin/.claude-print-install.$$") 2>/dev/null; then
    fail "Cannot write to $bin" \
      'Make it writable or free space there, or name another folder with --prefix'
  fi
  stage=$bin/.claude-print-install.$$
}

# Finds what to download with, once and only if it is needed.
find_downloader() {
  if has curl; then
    downloader=curl
  elif has wget; then
    case $(wget --version 2>&1 || :) in
      *'GNU Wget'*) downloader=wget ;;
      *) downloader=busybox ;;
    esac
  else
    fail 'Cannot download: there is neither curl nor wget on PATH' \
      "Install one of them, or copy $ASSET and $ASSET.sha256 here and use --from <file>"
  fi
  case $downloader:$1 in
    busybox:https:*)
      warn 'this wget does not check certificates: the checksum guards against accidents only'
      ;;
  esac
}

# download <url> <file>; what the downloader says is in the stage's file "said".
download() {
  case $downloader in
    curl)
      protocols='=http,https'
      # No redirect may leave the encrypted way.
      case $1 in https:*) protocols='=https' ;; esac
      attended curl --fail --location --silent --show-error --proto "$protocols" \
        --connect-timeout 30 --speed-limit 100 --speed-time 30 --retry 2 \
        --output "$2" "$1" 2>"$stage/said"
      ;;
    wget)
      attended wget --no-verbose --timeout=30 --tries=2 --output-document="$2" "$1" 2>"$stage/said"
      ;;
    # It gives up by itself after a silence of 15 minutes; to some builds -T is deadly.
    busybox) attended wget -q -O "$2" "$1" 2>"$stage/said" ;;
  esac
}

# fetch <file or url> <file>
fetch() {
  if is_url "$1"; then
    download "$1" "$2" || fetch_failed "$1" "$advice"
  else
    attended cp "$1" "$2" 2>"$stage/said" || fetch_failed "$1" "$advice"
  fi
}

is_url() {
  case $1 in
    *://*) return 0 ;;
    *) return 1 ;;
  esac
}

fetch_failed() {
  said=$(cat "$stage/said" 2>/dev/null) || said=''
  free=$(free_kilobytes)
  # On a full disk the downloader cannot even say why it failed.
  if [ -n "$free" ] && [ "$free" -lt 1024 ]; then
    fail "Cannot get $1: no space left on the disk of $bin" \
      'Free some, about 200 MB, or name another folder with --prefix'
  fi
  fail "Cannot get $1: ${said:-no reason given}" "$2"
}

# Prints how many KB are free where the target goes, or nothing.
free_kilobytes() {
  has df || return 0
  # The last line of a portable df has the free KB in its fourth field.
  said_df=$(df -Pk "$bin" 2>/dev/null) || return 0
  # shellcheck disable=SC2086 # Its words are wanted.
  set -- ${said_df##*"$newline"}
  case ${4:-} in
    '' | *[!0-9]*) ;;
    *) printf '%s' "$4" ;;
  esac
}

# Brings the executable into the stage, and lets nothing pass but what its checksum names.
get_executable() {
  base=${CLAUDE_PRINT_RELEASES:-$RELEASES}
  base=${base%/}
  advice='Look at the address, the network and HTTPS_PROXY'
  if [ -n "$from" ]; then
    source=$from
  elif [ -n "$wanted" ]; then
    source=$base/download/v$wanted/$ASSET
    advice="$advice, and whether $base has a version $wanted"
  else
    source=$base/latest/download/$ASSET
  fi
  if is_url "$source"; then
    find_downloader "$source"
  else
    [ -f "$source" ] || fail "Cannot read $source: there is no such file" 'Look at --from'
    advice="Both $source and $source.sha256 must be there: copy them from the release together"
  fi
  fetch "$source.sha256" "$stage/sha256"
  read -r expected _ <"$stage/sha256" || :
  case $expected in
    *[!0-9a-f]*) expected='' ;;
  esac
  if [ ${#expected} -ne 64 ]; then
    fail "Cannot verify $source: $source.sha256 does not hold a checksum as sha256sum prints it" \
      'Look at that file: a proxy or a login page may have answered instead'
  fi
  if [ -f "$target" ] && [ -r "$target" ] && [ "$(sha256_of "$target")" = "$expected" ]; then
    say "No need to get $source: it is here already"
    fetch "$target" "$stage/claude-print"
  else
    say "Getting $source"
    fetch "$source" "$stage/claude-print"
  fi
  got=$(sha256_of "$stage/claude-print")
  if [ "$got" != "$expected" ]; then
    fail "Cannot verify $source: its SHA-256 is $got, not $expected" \
      'It may have been cut off on the way, or replaced: try again; if this stays, do not use it'
  fi
  chmod 755 "$stage/claude-print"
}

# Starts the new program before anything depends on it.
check_executable() {
  if ! attended "$stage/claude-print" --version >"$stage/version" 2>"$stage/said"; then
    said=$(cat "$stage/said")
    said=${said%%"$newline"*}
    fail "Cannot start the new claude-print: ${said:-its exit code is $attended_code}" \
      "Nothing was changed. Look whether $bin is on a disk that does not let programs run"
  fi
  said=$(cat "$stage/version")
  case $said in
    'claude-print '[0-9]*) ;;
    *) fail "Cannot use $source: it is not claude-print" 'Look at the address or the file' ;;
  esac
  version=${said#claude-print }
  version=${version%% *}
  if [ -n "$wanted" ] && [ "$version" != "$wanted" ]; then
    fail "Cannot use $source: it is claude-print $version, not $wanted" \
      'Look at --version and at where it comes from'
  fi
  claude_version=${said##*wrapping claude }
  claude_version=${claude_version%)}
  case $claude_version in
    [0-9]*) ;;
    *) claude_version='' ;;
  esac
}

# Finds the version of the claude-print that is there, nothing if there is none.
find_old_version() {
  old_version=''
  [ -f "$target" ] && [ -x "$target" ] || return 0
  old_version='an unknown version'
  attended "$target" --version >"$stage/version" 2>/dev/null || return 0
  said=$(cat "$stage/version")
  case $said in
    'claude-print '[0-9]*)
      said=${said#claude-print }
      old_version=${said%% *}
      ;;
  esac
}

# Lists in the stage's file "companions" what goes where beside the program: "<what> <path>".
choose_companions() {
  : >"$stage/companions"
  if [ -d "$man_root" ]; then companion man "$man_root/man1/claude-print.1"; fi
  if [ -d "$bash_root" ]; then companion bash "$bash_root/completions/claude-print"; fi
  if [ -d "$zsh_folder" ]; then companion zsh "$zsh_folder/_claude-print"; fi
  if [ -d "$fish_root" ]; then companion fish "$fish_folder/claude-print.fish"; fi
  if [ -n "${HOME:-}" ] && [ -d "$HOME/.needle" ]; then
    companion needle "$HOME/.needle/agents/claude-print.yaml"
  fi
}

# companion <what> <path>: makes the file, unless somebody else's is there.
companion() {
  case $1 in
    needle) needle_agent >"$stage/$1" ;;
    man) attended "$stage/claude-print" man >"$stage/$1" 2>/dev/null || : ;;
    *) attended "$stage/claude-print" completion "$1" >"$stage/$1" 2>/dev/null || : ;;
  esac
  if [ ! -s "$stage/$1" ]; then
    warn "claude-print did not print what belongs into $2"
    return 0
  fi
  chmod 644 "$stage/$1"
  if [ -e "$2" ] || [ -L "$2" ]; then
    if ! is_recorded "$2" && [ "$(sum_or_none "$2")" != "$(sha256_of "$stage/$1")" ]; then
      say "Left as it is, because it was not installed from here or was changed: $2"
      return 0
    fi
    # The same file that somebody else put there stays theirs.
    is_recorded "$2" || return 0
  fi
  printf '%s %s\n' "$1" "$2" >>"$stage/companions"
}

sum_or_none() {
  if [ -f "$1" ] && [ -r "$1" ] && [ ! -L "$1" ]; then sha256_of "$1"; else printf none; fi
}

# Whether a file is what the record says was installed there.
is_recorded() {
  [ -f "$record" ] || return 1
  recorded_sum=$(sum_or_none "$1")
  while read -r sum path; do
    if [ "$sum" = "$recorded_sum" ] && [ "$path" = "$1" ]; then return 0; fi
  done <"$record"
  return 1
}

# The agent file of NEEDLE. A run ends by its own limit before NEEDLE's, so that there is a result.
needle_agent() {
  cat <<'YAML'
# Installed by the installer of claude-print. A changed file is neither upgraded nor removed.
name: claude-print
description: The interactive Claude Code, driven by claude-print
agent_cli: claude-print
version_command: "claude-print --version"
input_method:
  method: stdin
invoke_template: >-
  cd {workspace} && claude-print --model {model} --timeout 3540
  --output-format stream-json --verbose --dangerously-skip-permissions
  < {prompt_file}
timeout_secs: 3600
provider: anthropic
model: sonnet
output_transform: needle-transform-claude
cost:
  type: use_or_lose
YAML
}

# write_record [also]: prints what is there after this install. With "also" nothing is left out of
# what was there before, as long as it is not yet replaced.
write_record() {
  printf 'claude-print %s\n' "$version"
  printf '%s %s\n' "$expected" "$target"
  while read -r what path; do
    printf '%s %s\n' "$(sha256_of "$stage/$what")" "$path"
  done <"$stage/companions"
  if [ -f "$stage/old-record" ]; then
    while read -r sum path; do
      case $sum in
        claude-print | folder | end) ;;
        *) if [ $# -gt 0 ] || ! is_new "$path"; then printf '%s %s\n' "$sum" "$path"; fi ;;
      esac
    done <"$stage/old-record"
  fi
  printf '%s' "$made" | while IFS= read -r folder; do printf 'folder %s\n' "$folder"; done
  if [ -f "$stage/old-record" ]; then
    while read -r sum path; do
      [ "$sum" != folder ] || printf 'folder %s\n' "$path"
    done <"$stage/old-record"
  fi
  printf 'end\n'
}

# Whether this install puts a file there.
is_new() {
  [ "$1" != "$target" ] || return 0
  while read -r what new_path; do
    [ "$new_path" != "$1" ] || return 0
  done <"$stage/companions"
  return 1
}

# place <staged file> <path>: puts a file in its place in one step, on whatever disk that is.
place() {
  make_folder "${2%/*}" || return
  passing=${2%/*}/.claude-print-install.$$
  if cp "$stage/$1" "$passing" && chmod 644 "$passing" && mv -f "$passing" "$2"; then return 0; fi
  rm -f "$passing"
  return 1
}

# From here on it is a matter of milliseconds, and no signal may come in between.
commit() {
  trap '' HUP INT TERM
  if [ -f "$record" ]; then cp "$record" "$stage/old-record"; fi
  # What is written down first can be removed, whatever happens then.
  if ! make_folder "${record%/*}" 2>/dev/null || ! write_record also >"$stage/record" ||
    ! place record "$record" 2>/dev/null; then
    fail "Cannot write $record: nothing was installed" \
      "Make ${record%/*} writable or free space there, or name another folder with --prefix"
  fi
  if ! mv -f "$stage/claude-print" "$target"; then
    if [ -f "$stage/old-record" ]; then place old-record "$record"; else rm -f "$record"; fi
    fail "Cannot replace $target: nothing was installed" 'Look at who may write to it'
  fi
  committed=yes
  : >"$stage/placed"
  while read -r what path; do
    if place "$what" "$path" 2>"$stage/said"; then
      printf '%s %s\n' "$what" "$path" >>"$stage/placed"
    else
      warn "Cannot write $path: $(cat "$stage/said")"
    fi
  done <"$stage/companions"
  mv -f "$stage/placed" "$stage/companions"
  if ! write_record >"$stage/record" || ! place record "$record" 2>/dev/null; then
    warn "Cannot write $record: --uninstall may not find everything"
  fi
}

tell() {
  if [ -z "$old_version" ]; then
    say "Installed claude-print $version: $target"
  elif [ "$old_version" = "$version" ]; then
    say "Installed claude-print $version again: $target"
  else
    say "Replaced claude-print $old_version by $version: $target"
  fi
  while read -r what path; do
    case $what in
      man) say "Installed its manual page: $path" ;;
      needle) say "Installed the agent file for NEEDLE: $path" ;;
      *) say "Installed completions for $what: $path" ;;
    esac
  done <"$stage/companions"
  tell_claude
  tell_path
}

tell_claude() {
  if [ -n "$claude_version" ]; then
    say "Found Claude Code $claude_version"
  elif has claude; then
    warn "$(command -v claude) does not tell its version; \"claude-print doctor\" says more"
  else
    warn 'there is no claude on PATH: claude-print drives Claude Code, so install that too'
  fi
}

tell_path() {
  case :$PATH: in
    *":$bin:"* | *":$bin/:"*)
      first=$(command -v claude-print) || first=$target
      if [ "$first" != "$target" ]; then
        warn "$first comes before $target on PATH and is what runs"
      fi
      say 'Next: "claude-print doctor" looks whether all is well'
      return
      ;;
  esac
  # shellcheck disable=SC2016 # The user's shell is to expand it.
  case $bin in
    "${HOME:-/}"/*) folder='$HOME'${bin#"$HOME"} ;;
    *) folder=$bin ;;
  esac
  # shellcheck disable=SC2016 # Likewise.
  line='export PATH="'$folder':$PATH"'
  case ${SHELL:-} in
    */bash) profile=.bashrc ;;
    */zsh) profile=.zshrc ;;
    */fish)
      profile=.config/fish/config.fish
      line="fish_add_path \"$folder\""
      ;;
    *) profile=.profile ;;
  esac
  say ''
  say "$bin is not on PATH. Add this line to ~/$profile, and open a new shell:"
  say "  $line"
  say 'Then "claude-print doctor" looks whether all is well'
}

install() {
  check_tools uname
  check_platform
  find_places
  trap clean_up EXIT
  trap 'on_signal 129' HUP
  trap 'on_signal 130' INT
  trap 'on_signal 143' TERM
  make_stage
  get_executable
  check_executable
  find_old_version
  choose_companions
  commit
  tell
}

# A shim that is left behind would send calls to a program that is gone.
warn_of_shim() {
  shim=$(command -v claude) || return 0
  [ -f "$shim" ] && [ -r "$shim" ] || return 0
  second=''
  { read -r _ && IFS= read -r second; } <"$shim" 2>/dev/null || :
  case $second in
    '# claude-print shim'*)
      warn "$shim sends calls to claude-print, which goes: remove $shim too"
      ;;
  esac
}

uninstall() {
  find_places
  check_tools
  if [ ! -f "$record" ]; then
    fail "Cannot uninstall: there is no $record, which says what was installed" \
      'If it was installed with --prefix, name the same folder again'
  fi
  warn_of_shim
  left='' folders=''
  while read -r sum path; do
    case $sum in
      claude-print | end) ;;
      folder) folders="$folders$path$newline" ;;
      *)
        if [ "$(sum_or_none "$path")" = "$sum" ]; then
          rm -f "$path" 2>/dev/null ||
            fail "Cannot remove $path" 'Make its folder writable, and try again'
          say "Removed $path"
        elif [ -e "$path" ] || [ -L "$path" ]; then
          left="$left$path$newline"
        fi
        ;;
    esac
  done <"$record"
  rm -f "$record" || fail "Cannot remove $record" 'Make its folder writable, and try again'
  remove_folders "$folders"
  printf '%s' "$left" | while IFS= read -r path; do
    # A path may be on record twice, once as it was before an upgrade.
    if [ -e "$path" ] || [ -L "$path" ]; then
      say "Left as it is, because it was changed since it was installed: $path"
    fi
  done
}

main() {
  stage='' made='' committed='' child=''
  trap '' PIPE
  exec 3>&2
  parse_arguments "$@"
  case $action in
    install) install ;;
    uninstall) uninstall ;;
    help) usage ;;
  esac
}

# A part of this line is no command either.
{ main "$@"; exit; }
