#include "hippo/deploy/deploy.hpp"
#include "hippo/deploy/template_text.hpp"

namespace hippo {

namespace {

constexpr auto start_script = R"sh(#!/usr/bin/env bash
# Trainers of the service at {{SERVICE}}, on machines that ssh reaches.
#
#   bash trainers.sh start|stop|status [HOST...]
#
# `start` starts those that do not run, so it may be repeated at any time; they
# are in ~/.hippo there, with their logs. `stop` waits until each has saved what
# it has begun and handed the rest back.
# shellcheck disable=SC2016,SC2043
set -euo pipefail

usage() {
  echo "usage: bash trainers.sh start|stop|status [HOST...]" >&2
  exit 2
}

(($# >= 1)) || usage
verb=$1
shift
[[ $verb == start || $verb == stop || $verb == status ]] || usage
only=("$@")
{{CHECK_KEYS}}

# What runs there. Each trainer holds a lock as long as it lives; its number is
# in a file beside. Arguments: name, count, and for `start` the command.
start_there='
  set -eu
  name=$1 count=$2
  shift 2
  umask 077
  mkdir -p ~/.hippo
  cd ~/.hippo
  command -v "$1" >/dev/null || { echo "there is no $1"; exit 1; }
  i=1
  while [ "$i" -le "$count" ]; do
    setsid sh -c "exec 9>>\$0.lock; flock -n 9 || exit 0
      echo \$\$ >\$0.pid; exec \"\$@\"" \
      "$name-$i" "$@" >>"$name-$i.log" 2>&1 </dev/null &
    i=$((i + 1))
  done
  sleep 1
'
look_there='
  set -eu
  name=$1 count=$2
  cd ~/.hippo 2>/dev/null || { echo "$name: none was started"; exit 1; }
  i=1 down=0
  while [ "$i" -le "$count" ]; do
    if flock -n "$name-$i.lock" true; then
      down=1
      echo "$name-$i does not run; its log ends:"
      tail -n 3 "$name-$i.log" 2>/dev/null || :
    else
      echo "$name-$i runs, process $(cat "$name-$i.pid")"
    fi
    i=$((i + 1))
  done
  exit "$down"
'
stop_there='
  set -eu
  name=$1 count=$2 notice=$3
  cd ~/.hippo 2>/dev/null || exit 0
  i=1
  while [ "$i" -le "$count" ]; do
    flock -n "$name-$i.lock" true || kill -TERM "$(cat "$name-$i.pid")"
    i=$((i + 1))
  done
  i=1 left=0
  while [ "$i" -le "$count" ]; do
    flock -w "$notice" "$name-$i.lock" true \
      || { left=1; echo "$name-$i still runs"; }
    i=$((i + 1))
  done
  exit "$left"
'

# Runs a script with arguments on a host, by sh whatever the shell there is.
there() {
  local host=$1 script=$2
  shift 2
  { printf 'set --' && printf ' %q' "$@" && printf '\n%s' "$script"; } \
    | ssh -o BatchMode=yes -- "$host" sh -s
}

on_host() {
  local host=$1 name=$2 count=$3 notice=$4
  shift 4
  case $verb in
    start)
      {{COPY_KEY}}
      there "$host" "$start_there" "$name" "$count" "$@"
      there "$host" "$look_there" "$name" "$count"
      ;;
    stop) there "$host" "$stop_there" "$name" "$count" "$notice" ;;
    status) there "$host" "$look_there" "$name" "$count" ;;
  esac
}

jobs=()
asked=()
# Arguments: host, name, count, notice in seconds, the command.
trainers() {
  local host=$1
  asked+=("$host")
  if ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $host "* ]]; then
    { on_host "$@" 2>&1 | sed "s|^|$host: |"; } &
    jobs+=($!)
  fi
}

{{CALLS}}

for host in "${only[@]}"; do
  [[ " ${asked[*]} " == *" $host "* ]] || {
    echo "$host is none of: ${asked[*]}" >&2
    exit 2
  }
done
failed=0
for job in "${jobs[@]}"; do
  wait "$job" || failed=1
done
exit "$failed"
)sh";

constexpr auto check_keys = R"sh(
for name in {{NAMES}}; do
  [[ $verb != start || -r {{KEYS}}/$name.pem ]] || {
    echo "there is no {{KEYS}}/$name.pem: hippo keys add $name" \
      "--role trainer --keys {{KEYS}}" >&2
    exit 2
  }
done
)sh";

constexpr auto copy_key = R"sh(ssh -o BatchMode=yes -- "$host" \
  "sh -c 'umask 077; mkdir -p ~/.hippo; cat >~/.hippo/$name.pem'" \
  <{{KEYS}}/"$name.pem"
)sh";

constexpr auto call = R"sh(for host in{{HOSTS}}; do
  trainers "$host" {{NAME}} {{COUNT}} {{NOTICE}} \
    {{COMMAND}}
done
)sh";

} // namespace

std::string ssh_script(const machines& machines) {
  const auto service = to_text(machines.service);
  std::string calls, names;
  for (const auto& group : machines.trainers) {
    names += (names.empty() ? "" : " ") + group.name;
    std::string hosts;
    for (const auto& host : group.hosts)
      hosts += ' ' + host;
    const auto key = machines.keys.empty() ? "" : group.name + ".pem";
    calls += filled(call, {{"HOSTS", hosts},
                           {"NAME", group.name},
                           {"COUNT", std::to_string(group.count)},
                           {"NOTICE", std::to_string(group.notice_seconds)},
                           {"COMMAND", lines_of(trainer_command(
                                         group, service, key))}});
  }
  const bool open = machines.keys.empty();
  return filled(
    start_script,
    {{"SERVICE", service},
     {"CHECK_KEYS",
      open ? ""
           : filled(check_keys, {{"NAMES", names}, {"KEYS", machines.keys}})},
     {"COPY_KEY", open ? "" : filled(copy_key, {{"KEYS", machines.keys}})},
     {"CALLS", calls}});
}

} // namespace hippo
