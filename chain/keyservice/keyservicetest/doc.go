// Package keyservicetest has stand-ins for AWS KMS, Google Cloud KMS and Vault's transit engine, and a suite that a client of each has
// to pass.
//
// A [StandIn] speaks the protocol of the service as its documentation has it: of AWS it verifies the signature (SigV4) of each
// request, of Google the assertion of a service account and the checksums, of Vault the token and the namespace. It breaks on demand
// ([StandIn.Break]). It is no proof of what the service itself does.
//
// It knows no curve: the test that starts it brings the key.
package keyservicetest
