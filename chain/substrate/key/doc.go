// Package key has the keys that sign on Substrate chains: sr25519, ed25519, ecdsa, and the keys of Ethereum for chains whose
// accounts have 20 bytes. They come from secret URIs, a node's keystore folder, or files of polkadot-js.
//
// Sources: requirement S20; schnorrkel, BIP-39, the substrate-bip39 derivation of seeds.
package key
