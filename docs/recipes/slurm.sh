#!/bin/sh
# sh slurm.sh OUT KEY SHARDS
#
# OUT, which chatsquash shards has made, and KEY are paths on a file system that all nodes see, as the logs are.
# CPUS (4) are the cores of one shard.
set -eu
[ $# -eq 3 ] || { echo "usage: sh slurm.sh OUT KEY SHARDS" >&2; exit 2; }
export OUT="$1" KEY="$2" SHARDS="$3" # which sbatch hands on to its jobs

# Exit code 3 says that some lines or sessions were left out, which is no failure of the shard.
# shellcheck disable=SC2016 # the jobs expand it
array=$(sbatch --parsable --job-name=chatsquash --array="1-$SHARDS" --cpus-per-task="${CPUS:-4}" --requeue --wrap '
  chatsquash convert --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" -o "$OUT" --quiet \
    --workers "$SLURM_CPUS_PER_TASK" --anonymize-key-file "$KEY" || [ $? -eq 3 ]')

# It waits for all shards, and refuses to merge where one is missing: then run this script again.
# shellcheck disable=SC2016
sbatch --parsable --job-name=chatsquash-merge --dependency="afterany:${array%%;*}" --wrap '
  chatsquash merge "$OUT" || [ $? -eq 3 ]'
