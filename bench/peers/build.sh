#!/bin/sh
# Builds the stage and one contender of each kind into ../../bin, and for conch-lab bench: conch-members for gossip, conch-etcd for log,
# conch-river for schedule. The argument "members", "etcd" or "river" builds only that one.
set -eu
cd "$(dirname "$0")"
export GOWORK=off
for one in members etcd river; do
	case "${1:-$one}" in "$one") go build -trimpath -o "../../bin/conch-$one" "./$one" ;; esac
done
[ -z "${1:-}" ] || exit 0
go build -trimpath -o ../../bin/peers .
for peer in river etcd pglock client-go poller; do
	go build -trimpath -tags "one,$(echo "$peer" | tr -d -)" -o "../../bin/contender-$peer" ./contender
done
