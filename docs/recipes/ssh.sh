#!/bin/sh
# sh ssh.sh LOGS OUT KEY SHARDS HOST ... [-- OPTION OF convert ...]
#
# LOGS, OUT and KEY are paths on a file system that this machine and all hosts see. A host takes one shard after
# another, with as many workers as it has cores. SSH names another program than ssh.
set -eu
[ $# -ge 5 ] || { echo "usage: sh ssh.sh LOGS OUT KEY SHARDS HOST ... [-- OPTION ...]" >&2; exit 2; }
logs=$1 out=$2 key=$3 shards=$4
shift 4
hosts=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  hosts="$hosts $1"
  shift
done
[ $# -eq 0 ] || shift

quoted() { # as one word of the other shell
  printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

chatsquash shards "$logs" -o "$out" -n "$shards" "$@"

count=0
for host in $hosts; do count=$((count + 1)); done
number=0
for host in $hosts; do
  number=$((number + 1))
  # Exit code 3 says that some lines or sessions were left out, which is no failure of the shard.
  ${SSH:-ssh} "$host" "for shard in \$(seq $number $count $shards); do
    chatsquash convert --shard \$shard/$shards -o $(quoted "$out") --quiet \
      --anonymize-key-file $(quoted "$key") </dev/null || [ \$? -eq 3 ] || echo \"$host: shard \$shard failed\" >&2
  done" </dev/null &
done
wait

# It names the shards that are missing: then run this script again, which converts only those.
chatsquash merge "$out"
