// Package vault signs hashes with a key in HashiCorp Vault or OpenBao, through the API of the secrets engine transit.
//
// The transit engine that these ship has keys of P-256, P-384, P-521, Ed25519 and RSA, and none of secp256k1, the curve of Ethereum.
// So this package is for an engine that speaks the same API and has such keys: a plugin or a build of one's own (hashicorp/vault issue
// 4594 and pull request 12685). A key of another curve is a keyservice.Unfit fault when it is looked at, and nothing is signed with it.
// Where the engine is Vault's own, keep a keystore and let Vault Agent write it and its password file.
//
// It asks for PUT …/sign/KEY with prehashed and the hash, and for GET …/keys/KEY. It is tested against a stand-in
// (keyservicetest), not against Vault.
package vault
