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
# The most that is taken of a checksum and of an executable, in blocks of 512 bytes: 64 KB, 1 GB.
readonly MOST_OF_SUM=128
readonly MOST_OF_PROGRAM=2097152
# How long a download may take, and everything else that is started, in seconds.
readonly DOWNLOAD_LIMIT=3600
readonly LIMIT=60
# What an installer has under way lies beside what it is to become, under this name and its own.
readonly UNDER_WAY=.claude-print-install
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
  --force               Replace a claude-print that was not installed from here
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

# ---- What is said

# Whether somebody reads it is no reason to stop.
say() {
  printf '%s\n' "$*" 2>/dev/null || :
}

# Where stderr cannot be written to, stdout will do.
complain() {
  printf 'install.sh: %s\n' "$1" >&2 || printf 'install.sh: %s\n' "$1" || :
}

warn() {
  complain "Warning: $*"
}

# fail <what failed> <what to do about it>
fail() {
  complain "$1$newline  $2"
  exit 1
}

usage_error() {
  complain "$1$newline  \"sh install.sh --help\" lists the flags"
  exit 2
}

# ---- What is asked for, and where

# Settles what the caller's shell may have left otherwise.
set_surroundings() {
  # A stream that is closed would be opened again as the next file, and written to.
  (exec 3<&0) 2>/dev/null || exec 0</dev/null
  (exec 3>&1) 2>/dev/null || exec 1>/dev/null
  (exec 3>&2) || exec 2>&1
  trap '' PIPE
  LC_ALL=C
  export LC_ALL
  # No umask may shut out the user, or let others in.
  umask u=rwx,go-w
}

parse_arguments() {
  wanted='' prefix='' from='' force='' action=install
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --prefix | --from)
        if [ $# -lt 2 ] || [ -z "$2" ]; then usage_error "$1 needs a value"; fi
        set_option "$1" "$2"
        shift
        ;;
      --version=?* | --prefix=?* | --from=?*) set_option "${1%%=*}" "${1#*=}" ;;
      --force) force=yes ;;
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
      is_version "$wanted" || usage_error "\"$2\" is no version"
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
    /*) path=$1 ;;
    *) path=$(pwd)/$1 ;;
  esac
  while [ "${path#//}" != "$path" ]; do path=${path#/}; done
  while [ "${path%?/}" != "$path" ]; do path=${path%/}; done
  printf '%s' "$path"
}

is_version() {
  case $1 in
    *[!0-9A-Za-z.+-]*) return 1 ;;
    [0-9]*) return 0 ;;
    *) return 1 ;;
  esac
}

# Where things go, and where it is written down what was put there.
find_places() {
  if [ -n "$prefix" ]; then
    bin=${prefix%/}/bin
    data=${prefix%/}/share
    man_root=$data/man bash_root=$data/bash-completion zsh_folder=$data/zsh/site-functions
    fish_root=$data/fish fish_folder=$fish_root/vendor_completions.d
  else
    check_home
    bin=$HOME/.local/bin
    data=${XDG_DATA_HOME:-$HOME/.local/share}
    man_root=$data/man bash_root=$data/bash-completion zsh_folder=$(find_zsh_folder)
    fish_root=${XDG_CONFIG_HOME:-$HOME/.config}/fish fish_folder=$fish_root/completions
  fi
  case ${HOME:-} in
    /?*) needle_root=$HOME/.needle ;;
    *) needle_root='' ;;
  esac
  target=$bin/claude-print
  record=$data/claude-print/installed
  lock=${record%/*}/$UNDER_WAY.lock
  case $target$record in
    *"$newline"*)
      fail 'Cannot use a folder with a line break in its name' 'Name another one with --prefix'
      ;;
  esac
}

check_home() {
  case ${HOME:-} in
    '') problem='HOME is not set' ;;
    [!/]*) problem="HOME is \"$HOME\", which is no absolute path" ;;
    *[!/]*) problem='' ;;
    *) problem='HOME is /' ;;
  esac
  if [ -n "$problem" ]; then
    fail "Cannot find a folder to install to: $problem" 'Set HOME, or name a folder with --prefix'
  fi
  check_absolute XDG_DATA_HOME "${XDG_DATA_HOME:-}"
  check_absolute XDG_CONFIG_HOME "${XDG_CONFIG_HOME:-}"
  check_absolute ZDOTDIR "${ZDOTDIR:-}"
}

# check_absolute <variable> <its value>
check_absolute() {
  case $2 in
    '' | /*) ;;
    *) fail "Cannot use $1: \"$2\" is no absolute path" "Set it to one, or unset $1" ;;
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

# ---- What it takes

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
      minor=${minor%%[!0-9]*}
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
  for tool in cat chmod cp ln mkdir mv rm rmdir timeout "$@"; do
    if ! has "$tool"; then
      fail "Cannot install: there is no \"$tool\" on PATH" 'Install it, or add its folder to PATH'
    fi
  done
  # That of coreutils leaves this installer's process group otherwise, that of busybox never does.
  in_group=''
  if timeout --foreground 1 cat </dev/null 2>/dev/null; then in_group=--foreground; fi
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

# ---- What is under way, and how it ends

# attended <seconds> <blocks> <command>: runs a command that may take long, and kills it after that
# time. It cannot write files of more blocks. The shell must be free to receive a signal meanwhile.
# What the command writes to stderr is in the stage's file "said" then.
attended() {
  limited "$@" </dev/null 2>"$stage/said" &
  attended_code=0
  wait "$!" 2>/dev/null || attended_code=$?
  waited=$!
  if [ "$attended_code" -eq 137 ]; then
    printf '%s\n' "it was killed, or did not end within $1 seconds" >>"$stage/said"
  fi
  return "$attended_code"
}

# shellcheck disable=SC2317,SC2329 # "attended" calls it.
limited() {
  command trap '' XFSZ 2>/dev/null || :
  command ulimit -f "$2" 2>/dev/null || :
  limit=$1
  shift 2
  # shellcheck disable=SC2086 # It may be nothing.
  exec timeout $in_group -s KILL "$limit" "$@"
}

# last_said [else]: prints the last line of what was said, unless it holds what a terminal would obey.
last_said() {
  last=${1:-no reason given}
  while IFS= read -r said || [ -n "$said" ]; do
    case $said in
      '') ;;
      *[[:cntrl:]]*) last='a reason that cannot be shown' ;;
      *) last=$said ;;
    esac
  done <"$stage/said"
  printf '%s' "$last"
}

# shellcheck disable=SC2317,SC2329 # Traps call it.
on_signal() {
  trap '' HUP INT QUIT TERM
  # A name for the child would have to be given first, and the signal may come before that.
  if [ "${!-}" != "$waited" ]; then
    kill "$!" 2>/dev/null || :
    wait "$!" 2>/dev/null || :
  fi
  complain 'Interrupted: nothing was changed'
  exit "$1"
}

# Whatever the end is, what is not installed does not stay.
# shellcheck disable=SC2317,SC2329 # A trap calls it.
clean_up() {
  unlock_record
  [ -z "$stage" ] || rm -rf "$stage"
  [ "$committed" = yes ] || remove_folders "$made"
}

# Makes a folder and those above it, and remembers which were missing.
make_folder() {
  if [ -d "$1" ]; then return 0; fi
  above=${1%/*}
  make_folder "${above:-/}" || return
  # Somebody else may be making it at the same time.
  if mkdir "$1"; then made="$1$newline$made"; else [ -d "$1" ]; fi
}

# Removes the folders of a list, a line each, as far as they are empty.
remove_folders() {
  printf '%s' "$1" | while IFS= read -r folder; do
    [ ! -d "$folder" ] || rmdir "$folder" 2>/dev/null || :
  done
}

# Names this installer as no other is named: by its process, when that began, and on which machine.
name_self() {
  # Containers may share a folder and a name, but not the numbers of their processes.
  processes=$(readlink /proc/self/ns/pid 2>/dev/null) || processes=''
  processes=${processes#*\[}
  machine=$(uname -n)-${processes%]}
  case $machine in *[!0-9A-Za-z._-]*) machine=unknown ;; esac
  self=$$.$(start_of $$).$machine
}

# Prints when a process began, as /proc has it; 0 if there is no such process or no /proc.
start_of() {
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || stat=''
  # Its name may hold anything, and comes first.
  # shellcheck disable=SC2086 # Its words are wanted.
  set -- ${stat##*)}
  printf '%s' "${20:-0}"
}

# Whether the installer of this name has ended; what cannot be told for sure counts as going on.
has_ended() {
  pid=${1%%.*} rest=${1#*.}
  start=${rest%%.*}
  if [ "${rest#*.}" != "$machine" ] || [ "$machine" = unknown ]; then return 1; fi
  case $pid$start in *[!0-9]*) return 1 ;; esac
  if [ "$start" -gt 0 ] && [ -r "/proc/$$/stat" ]; then
    [ "$(start_of "$pid")" != "$start" ]
  else
    if kill -0 "$pid" 2>/dev/null; then return 1; fi
  fi
}

# Removes what installers that were killed have left in a folder.
sweep() {
  for remains in "$1/$UNDER_WAY".*; do
    if [ -w "$remains" ] && has_ended "${remains##*/"$UNDER_WAY".}"; then
      rm -rf "$remains" 2>/dev/null || :
    fi
  done
}

# ---- Before anything is changed

# A private folder on the same disk as the target, so that moving from it is atomic.
make_stage() {
  for file in "$target" "$record"; do
    if [ -d "$file" ]; then
      fail "Cannot install to $file: it is a folder" \
        'Remove it, or name another folder with --prefix'
    fi
  done
  check_old_program
  if ! make_folder "$bin" 2>/dev/null; then
    fail "Cannot make the folder $bin" \
      'Make it yourself, or name one you may write to with --prefix'
  fi
  check_rights
  sweep "$bin"
  sweep "${record%/*}"
  if ! (umask 077 && mkdir "$bin/$UNDER_WAY.$self") 2>/dev/null; then cannot_write "$bin"; fi
  stage=$bin/$UNDER_WAY.$self
  for file in said version man bash zsh fish needle record; do
    (: >"$stage/$file") 2>/dev/null || cannot_write "$bin"
  done
}

cannot_write() {
  fail "Cannot write to $1" \
    'Make it writable or free space there, or name another folder with --prefix'
}

# Where everybody may rename files, anybody could put another program in the place of this one.
check_rights() {
  has ls || return 0
  case $(ls -ld "$bin/." 2>/dev/null) in
    ????????w[!tT]*)
      fail "Cannot install to $bin: every user may replace files there" \
        "Take that from them with \"chmod o-w $bin\", or name another folder with --prefix"
      ;;
  esac
}

# Only what was installed from here is replaced, and nothing that is there is run. Sets "old": the
# version of what is replaced, nothing if nothing is there, or "unknown"; and "old_sum".
check_old_program() {
  old='' recorded_version=''
  old_sum=$(sum_or_none "$target")
  if [ ! -e "$target" ] && [ ! -L "$target" ]; then return 0; fi
  if is_recorded "$target" "$old_sum"; then
    old=$recorded_version
  elif [ -n "$force" ]; then
    old=unknown
  else
    fail "Cannot replace $target: it was not installed from here, or was changed since" \
      'Remove it, name another folder with --prefix, or replace it with --force'
  fi
}

# ---- Getting the executable

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
    *:http:*)
      warn "$1 is not encrypted: whoever is on the way can replace the program and its checksum"
      ;;
    busybox:*)
      fail 'Cannot download: this wget, the only one here, does not check who it talks to' \
        "Install curl or GNU wget, or copy $ASSET and $ASSET.sha256 here and use --from <file>"
      ;;
  esac
}

# download <url> <file> <most blocks>
download() {
  case $downloader in
    curl)
      # No redirect may leave the encrypted way.
      case $1 in https:*) protocols='=https' ;; *) protocols='=http,https' ;; esac
      attended "$DOWNLOAD_LIMIT" "$3" curl --fail --location --silent --show-error \
        --proto "$protocols" --proto-redir "$protocols" \
        --connect-timeout 30 --speed-limit 100 --speed-time 30 --retry 2 --output "$2" "$1"
      ;;
    wget)
      attended "$DOWNLOAD_LIMIT" "$3" wget --no-verbose --server-response --timeout=30 --tries=2 \
        --output-document="$2" "$1" && check_way "$1"
      ;;
    # It gives up by itself after a silence of 15 minutes; to some builds -T is deadly.
    busybox) attended "$DOWNLOAD_LIMIT" "$3" wget -q -O "$2" "$1" ;;
  esac
}

# wget cannot be told to follow no redirect to http, but tells which ones it followed.
check_way() {
  case $1 in http:*) return 0 ;; esac
  while read -r header value; do
    case $header$value in
      [Ll][Oo][Cc][Aa][Tt][Ii][Oo][Nn]:[Hh][Tt][Tt][Pp]:*)
        printf '%s\n' 'it is redirected to an address that is not encrypted' >>"$stage/said"
        return 1
        ;;
    esac
  done <"$stage/said"
}

# fetch <file or url> <file> <most blocks>
fetch() {
  if is_url "$1"; then
    download "$1" "$2" "$3" || fetch_failed "$1" "$advice"
  else
    check_file "$1"
    attended "$DOWNLOAD_LIMIT" "$3" cp "$1" "$2" || fetch_failed "$1" "$advice"
  fi
}

# Whatever else a path may lead to, such as a FIFO, could keep who reads it waiting, or have no end.
check_file() {
  if [ ! -e "$1" ]; then fail "Cannot get $1: there is no such file" "$advice"; fi
  if [ ! -f "$1" ]; then fail "Cannot get $1: it is no regular file" "$advice"; fi
}

is_url() {
  case $1 in
    https://* | http://*) return 0 ;;
    *://*) fail "Cannot get $1: it is neither https:// nor http://" 'Look at the address' ;;
    *) return 1 ;;
  esac
}

fetch_failed() {
  # On a full disk the downloader cannot even say why it failed.
  check_room "$1"
  fail "Cannot get $1: $(last_said)" "$2"
}

# There must be room for what is written beside the program, too.
check_room() {
  free=$(free_kilobytes)
  if [ -n "$free" ] && [ "$free" -lt 1024 ]; then
    fail "Cannot get $1: no space left on the disk of $bin" \
      'Free some, about 200 MB, or name another folder with --prefix'
  fi
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
    advice="Both $source and $source.sha256 must be there: copy them from the release together"
    check_file "$source"
  fi
  fetch "$source.sha256" "$stage/sha256" "$MOST_OF_SUM"
  read -r expected _ <"$stage/sha256" || :
  case $expected in
    *[!0-9a-f]*) expected='' ;;
  esac
  if [ ${#expected} -ne 64 ]; then
    fail "Cannot verify $source: $source.sha256 does not hold a checksum as sha256sum prints it" \
      'Look at that file: a proxy or a login page may have answered instead'
  fi
  if [ "$old_sum" = "$expected" ]; then
    say "No need to get $source: it is here already"
    fetch "$target" "$stage/claude-print" "$MOST_OF_PROGRAM"
  else
    say "Getting $source"
    fetch "$source" "$stage/claude-print" "$MOST_OF_PROGRAM"
  fi
  got=$(sha256_of "$stage/claude-print")
  if [ "$got" != "$expected" ]; then
    fail "Cannot verify $source: its SHA-256 is $got, not $expected" \
      'It may have been cut off on the way, or replaced: try again; if this stays, do not use it'
  fi
  chmod 755 "$stage/claude-print"
  check_room "$source"
}

# Starts the new program before anything depends on it.
check_executable() {
  if ! attended "$LIMIT" "$MOST_OF_SUM" "$stage/claude-print" --version >"$stage/version"; then
    fail "Cannot start the new claude-print: $(last_said "its exit code is $attended_code")" \
      "Nothing was changed. Look whether $bin is on a disk that does not let programs run"
  fi
  said=$(cat "$stage/version")
  own_line=${said##*"$newline"}
  version=${own_line#claude-print }
  if [ "$own_line" = "$version" ] || ! is_version "$version"; then
    fail "Cannot use $source: it is not claude-print" 'Look at the address or the file'
  fi
  # Where claude is found, its line comes first.
  claude_version=${said%% (Claude Code)*}
  is_version "$claude_version" || claude_version=''
}

# ---- Versions

# What was asked for is installed, and without being asked for nothing older than what is there.
check_version() {
  if [ -n "$wanted" ]; then
    if [ "$version" != "$wanted" ]; then
      fail "Cannot use $source: it is claude-print $version, not $wanted" \
        'Look at --version and at where it comes from'
    fi
  elif is_version "$old" && is_older "$version" "$old"; then
    fail "Cannot use $source: it is claude-print $version, and here is $old, which is newer" \
      "Look at where it comes from; if you want the older one, add --version $version"
  fi
}

# is_older <version> <version>: whether the first comes before the second, by semantic versioning.
is_older() {
  set -- "${1%%+*}" "${2%%+*}"
  if [ "${1%%-*}" != "${2%%-*}" ]; then
    comes_before "${1%%-*}" "${2%%-*}"
    return
  fi
  case $1,$2 in
    *-*,*-*) comes_before "${1#*-}" "${2#*-}" ;;
    *-*,*) return 0 ;;
    *) return 1 ;;
  esac
}

# Compares two lists with dots in between: numbers by their size, before words, which go by letters.
comes_before() {
  left=$1. right=$2.
  while [ -n "$left" ] && [ -n "$right" ]; do
    set -- "${left%%.*}" "${right%%.*}"
    left=${left#*.} right=${right#*.}
    if [ "$1" = "$2" ]; then continue; fi
    if is_number "$1" && is_number "$2"; then
      [ "$1" -lt "$2" ]
    elif is_number "$1" || is_number "$2"; then
      is_number "$1"
    else
      expr "x$1" '<' "x$2" >/dev/null
    fi
    return
  done
  [ -n "$right" ]
}

is_number() {
  case $1 in
    '' | *[!0-9]*) return 1 ;;
    *) return 0 ;;
  esac
}

# ---- What goes beside the program

# Lists in "companions" what goes where beside the program, a line each: "<what> <path>".
choose_companions() {
  companions=''
  if [ -d "$man_root" ]; then companion man "$man_root/man1/claude-print.1"; fi
  if [ -d "$bash_root" ]; then companion bash "$bash_root/completions/claude-print"; fi
  if [ -d "$zsh_folder" ]; then companion zsh "$zsh_folder/_claude-print"; fi
  if [ -d "$fish_root" ]; then companion fish "$fish_folder/claude-print.fish"; fi
  if [ -d "$needle_root" ]; then companion needle "$needle_root/agents/claude-print.yaml"; fi
}

# companion <what> <path>: makes the file, unless somebody else's is there.
companion() {
  sweep "${2%/*}"
  if ! print_companion "$1" >"$stage/$1" || [ ! -s "$stage/$1" ]; then
    warn "Cannot make $2: $(last_said)"
    return 0
  fi
  if [ -e "$2" ] || [ -L "$2" ]; then
    there=$(sum_or_none "$2")
    if ! is_recorded "$2" "$there"; then
      # The same file that somebody else put there stays theirs, and is none to speak of.
      [ "$there" = "$(sha256_of "$stage/$1")" ] ||
        say "Left as it is, because it was not installed from here or was changed: $2"
      return 0
    fi
  fi
  if make_folder "${2%/*}" 2>"$stage/said"; then
    companions="$companions$1 $2$newline"
  else
    warn "Cannot write $2: $(last_said)"
  fi
}

print_companion() {
  case $1 in
    needle) needle_agent 2>"$stage/said" ;;
    man) attended "$LIMIT" "$MOST_OF_PROGRAM" "$stage/claude-print" man ;;
    *) attended "$LIMIT" "$MOST_OF_PROGRAM" "$stage/claude-print" completion "$1" ;;
  esac
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

sum_or_none() {
  if [ -f "$1" ] && [ -r "$1" ] && [ ! -L "$1" ]; then sha256_of "$1"; else printf none; fi
}

# ---- The record

# is_recorded <path> <sum of what is there>: whether that is on record, as of "recorded_version".
is_recorded() {
  if [ ! -f "$record" ] || [ ! -r "$record" ]; then return 1; fi
  while read -r sum path; do
    case $sum in
      claude-print) recorded_version=$path ;;
      "$2") if is_same_place "$path" "$1"; then return 0; fi ;;
    esac
  done <"$record"
  return 1
}

# Whether two paths are of one place, whatever links lead there.
is_same_place() {
  [ "$1" != "$2" ] || return 0
  [ "${1##*/}" = "${2##*/}" ] && [ "$(physical "${1%/*}")" = "$(physical "${2%/*}")" ]
}

physical() {
  (cd "$1" 2>/dev/null && pwd -P) || printf '%s' "$1"
}

# Prints what this install puts where, and which folders it made for that.
own_lines() {
  printf 'claude-print %s\n%s %s\n' "$version" "$expected" "$target"
  printf '%s' "$companions" | while read -r what path; do
    printf '%s %s\n' "$(sha256_of "$stage/$what")" "$path"
  done
  printf '%s' "$made" | while IFS= read -r folder; do printf 'folder %s\n' "$folder"; done
}

# old_lines [after]: prints what was on record before, "after" this install only what it left there.
old_lines() {
  printf '%s\n' "$old_record" | while read -r sum path; do
    case $sum in
      '' | end) continue ;;
      folder) ;;
      claude-print) [ $# -eq 0 ] || continue ;;
      *) if [ $# -gt 0 ] && is_new "$path"; then continue; fi ;;
    esac
    printf '%s %s\n' "$sum" "$path"
  done
}

# Whether this install puts a file there.
is_new() {
  case " $target$newline$companions" in
    *" $1$newline"*) return 0 ;;
    *) return 1 ;;
  esac
}

# write_record <text>
write_record() {
  printf '%s\nend\n' "$1" >"$stage/record" && place record "$record"
}

# ---- Putting things in their places

# place <staged file> <path>: puts a file in its place in one step, on whatever disk that is.
place() {
  passing=${2%/*}/$UNDER_WAY.$self
  if cp "$stage/$1" "$passing" && chmod 644 "$passing" && mv -f "$passing" "$2"; then return 0; fi
  rm -f "$passing"
  return 1
}

# From here on it is a matter of milliseconds, and no signal may come in between.
commit() {
  trap '' HUP INT QUIT TERM
  if ! make_folder "${record%/*}" 2>/dev/null || ! lock_record; then record_failed; fi
  # Another installer may have been here meanwhile.
  check_old_program
  check_version
  old_record=''
  if [ -f "$record" ]; then old_record=$(cat "$record"); fi
  # What is written down first can be removed, whatever happens then.
  write_record "$(own_lines && old_lines)" 2>/dev/null || record_failed
  if ! mv -f "$stage/claude-print" "$target"; then
    if [ -n "$old_record" ]; then write_record "$(old_lines)"; else rm -f "$record"; fi
    fail "Cannot replace $target: nothing was installed" 'Look at who may write to it'
  fi
  committed=yes
  place_companions
  write_record "$(own_lines && old_lines after)" 2>/dev/null ||
    warn "Cannot write $record: --uninstall may not find everything"
  unlock_record
}

# One installer at a time writes the record. That takes milliseconds: one that was killed meanwhile is
# not waited for, and where that cannot be told, as of another machine, it is for 5 seconds.
lock_record() {
  tries=0
  until ln -s "$self" "$lock" 2>/dev/null || [ "$tries" -ge 50 ]; do
    tries=$((tries + 1))
    [ -w "${lock%/*}" ] || return
    if has_ended "$(readlink "$lock" 2>/dev/null)"; then
      rm -f "$lock"
    else
      sleep 0.1 2>/dev/null || sleep 1 2>/dev/null || :
    fi
  done
  locked=yes
}

unlock_record() {
  [ -z "$locked" ] || rm -f "$lock" 2>/dev/null || :
  locked=''
}

record_failed() {
  fail "Cannot write $record: nothing was installed" \
    "Make ${record%/*} writable or free space there, or name another folder with --prefix"
}

# Leaves in "companions" those that are in their place.
place_companions() {
  placed=''
  while read -r what path; do
    if [ -z "$what" ]; then
      continue
    elif place "$what" "$path" 2>"$stage/said"; then
      placed="$placed$what $path$newline"
    else
      warn "Cannot write $path: $(last_said)"
    fi
  done <<LINES
$companions
LINES
  companions=$placed
}

# ---- What is told in the end

tell() {
  case $old in
    '') say "Installed claude-print $version: $target" ;;
    "$version") say "Installed claude-print $version again: $target" ;;
    unknown) say "Installed claude-print $version in the place of another: $target" ;;
    *) say "Replaced claude-print $old by $version: $target" ;;
  esac
  printf '%s' "$companions" | while read -r what path; do
    case $what in
      man) say "Installed its manual page: $path" ;;
      needle) say "Installed the agent file for NEEDLE: $path" ;;
      *) say "Installed completions for $what: $path" ;;
    esac
  done
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

# ---- The two actions

install() {
  check_tools uname
  check_platform
  find_places
  name_self
  trap clean_up EXIT
  trap 'on_signal 129' HUP
  trap 'on_signal 130' INT
  trap 'on_signal 131' QUIT
  trap 'on_signal 143' TERM
  make_stage
  get_executable
  check_executable
  check_version
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
  check_tools uname
  find_places
  name_self
  sweep "$bin"
  sweep "${record%/*}"
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
        sweep "${path%/*}"
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
  rm -f "$record" "$lock" 2>/dev/null ||
    fail "Cannot remove $record" 'Make its folder writable, and try again'
  remove_folders "$folders"
  printf '%s' "$left" | while IFS= read -r path; do
    # A path may be on record twice, once as it was before an upgrade.
    if [ -e "$path" ] || [ -L "$path" ]; then
      say "Left as it is, because it was changed since it was installed: $path"
    fi
  done
}

main() {
  stage='' made='' locked='' committed='' waited=${!-}
  set_surroundings
  parse_arguments "$@"
  case $action in
    install) install ;;
    uninstall) uninstall ;;
    help) usage ;;
  esac
}

# A part of this line is no command either.
{ main "$@"; exit; }
