// Package awskms signs hashes with a key in AWS Key Management Service, of the key spec ECC_SECG_P256K1 and the usage SIGN_VERIFY.
//
// Credentials, region and endpoint are found as in every program with Amazon's library for Go: environment, shared files, web
// identity, the container's or the instance's role; AWS_ENDPOINT_URL_KMS names another endpoint. The rights kms:Sign and
// kms:GetPublicKey on the key are needed. It is a module of its own, so that only its users link Amazon's library.
//
// It is tested against a stand-in that verifies the signatures of requests (keyservicetest), not against the service.
package awskms
