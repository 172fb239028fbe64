#!/bin/sh
# Builds the stage and one contender of each kind into ../../bin, conch-members for conch-lab bench gossip, and conch-etcd for conch
# bench log. The argument "members" or "etcd" builds only that one.
set -eu
cd "$(dirname "$0")"
export GOWORK=off
[ "${1:-}" = etcd ] || go build -trimpath -o ../../bin/conch-members ./members
[ "${1:-}" = members ] && exit
go build -trimpath -o ../../bin/conch-etcd ./etcd
[ "${1:-}" = etcd ] && exit
go build -trimpath -o ../../bin/peers .
for peer in river etcd pglock client-go poller; do
	go build -trimpath -tags "one,$(echo "$peer" | tr -d -)" -o "../../bin/contender-$peer" ./contender
done
