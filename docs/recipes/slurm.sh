#!/bin/sh
# sh slurm.sh OUT KEY SHARDS
#
# OUT (created by chatsquash shards), KEY and the logs are on a file system shared by all nodes.
# CPUS is the number of cores per shard (default: 4).
set -eu
[ $# -eq 3 ] || { echo "usage: sh slurm.sh OUT KEY SHARDS" >&2; exit 2; }
export OUT="$1" KEY="$2" SHARDS="$3" # passed on by sbatch

# Exit code 3 means that some lines or sessions were skipped; the shard is complete.
# shellcheck disable=SC2016 # expanded by the jobs
array=$(sbatch --parsable --job-name=chatsquash --array="1-$SHARDS" --cpus-per-task="${CPUS:-4}" --requeue --wrap '
  chatsquash convert --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" -o "$OUT" --quiet \
    --workers "$SLURM_CPUS_PER_TASK" --anonymize-key-file "$KEY" || [ $? -eq 3 ]')

# Waits for all shards. If one is missing, the merge fails: run this script again.
# shellcheck disable=SC2016
sbatch --parsable --job-name=chatsquash-merge --dependency="afterany:${array%%;*}" --wrap '
  chatsquash merge "$OUT" || [ $? -eq 3 ]'
