#!/bin/sh
# One uploader for a site: this runs on each machine beside its node (docs/gossip.md), and the machine that gossip suggests
# uploads a file under the name of the minute.
#
# A suggestion is a hint. For a moment two machines may upload, or none. That is why the upload here may be done twice: either
# reading of a minute is a good one. Work of which you cannot say that needs conch run, or a role.
#
#   upload.sh FILE URL [NODE]
set -u
reading=$1 office=$2 node=${3:-http://127.0.0.1:7070}
while sleep "${UPLOAD_EVERY:-5}"; do
  conch status --gossip --json --node "$node" | grep -q '"leads":true' || continue
  curl -sf --max-time 10 -T "$reading" "$office/$(date -u +%Y-%m-%dT%H:%M)" ||
    curl -s --max-time 10 -H 'Content-Type: application/json' -d '{"why":"the office cannot be reached"}' "$node/v1/nodes/default/withdraw"
done
