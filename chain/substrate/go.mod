module github.com/conchhq/conch/chain/substrate

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/coder/websocket v1.8.15
	github.com/conchhq/conch v0.0.0
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.0.1
	github.com/oasisprotocol/curve25519-voi v0.0.0-20230904125328-1f23a7beb09a
	github.com/tyler-smith/go-bip39 v1.1.0
	go.uber.org/goleak v1.3.0
	golang.org/x/crypto v0.57.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/conchhq/conch => ../..
