// Package extrinsic builds, signs, reads and verifies extrinsics of version 4, which is what a block of a Substrate chain consists
// of, and has the addresses (SS58), eras and storage keys that belong to it.
//
// Sources: the extrinsic format and the storage of the Polkadot specification; requirements S18, S20.
package extrinsic
