module github.com/conchhq/conch/chain/substrate

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/conchhq/conch v0.0.0
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.0.1
	github.com/oasisprotocol/curve25519-voi v0.0.0-20230904125328-1f23a7beb09a
	golang.org/x/crypto v0.57.0
)

require golang.org/x/sys v0.49.0 // indirect

require (
	github.com/coder/websocket v1.8.15
	go.uber.org/goleak v1.3.0
)

replace github.com/conchhq/conch => ../..
