#!/bin/sh
# sh ssh.sh OUT KEY SHARDS HOST ...
#
# OUT (created by chatsquash shards), KEY and the logs are on a file system shared by this machine and all hosts. Each
# host converts its shards one after another, with one worker per core.
set -eu
[ $# -ge 4 ] || { echo "usage: sh ssh.sh OUT KEY SHARDS HOST ..." >&2; exit 2; }
out=$1 key=$2 shards=$3
shift 3

quoted() { # as one word for the remote shell
  printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

number=0
for host; do
  number=$((number + 1))
  # Exit code 3 means that some lines or sessions were skipped; the shard is complete.
  # shellcheck disable=SC2029 # expanded here: the shards of each host
  ssh "$host" "for shard in \$(seq $number $# $shards); do
    chatsquash convert --shard \$shard/$shards -o $(quoted "$out") --quiet \
      --anonymize-key-file $(quoted "$key") </dev/null || [ \$? -eq 3 ] || echo \"$host: shard \$shard failed\" >&2
  done" </dev/null || echo "$host: ssh ended with $?" >&2 &
done
wait

# Lists missing shards: run this script again to convert only those.
chatsquash merge "$out"
