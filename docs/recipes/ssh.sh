#!/bin/sh
# sh ssh.sh OUT KEY SHARDS HOST ...
#
# OUT, which chatsquash shards has made, and KEY are paths on a file system that this machine and all hosts see, as the
# logs are. A host takes one shard after another, with as many workers as it has cores.
set -eu
[ $# -ge 4 ] || { echo "usage: sh ssh.sh OUT KEY SHARDS HOST ..." >&2; exit 2; }
out=$1 key=$2 shards=$3
shift 3

quoted() { # as one word of the other shell
  printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

number=0
for host; do
  number=$((number + 1))
  # Exit code 3 says that some lines or sessions were left out, which is no failure of the shard.
  # shellcheck disable=SC2029 # this shell knows the shards of each host
  ssh "$host" "for shard in \$(seq $number $# $shards); do
    chatsquash convert --shard \$shard/$shards -o $(quoted "$out") --quiet \
      --anonymize-key-file $(quoted "$key") </dev/null || [ \$? -eq 3 ] || echo \"$host: shard \$shard failed\" >&2
  done" </dev/null || echo "$host: ssh ended with $?" >&2 &
done
wait

# It names the shards that are missing: then run this script again, which converts only those.
chatsquash merge "$out"
