// Package awskms signs hashes with a key in AWS Key Management Service, of the key spec ECC_SECG_P256K1 and the usage SIGN_VERIFY.
// The rights kms:Sign and kms:GetPublicKey on the key are needed.
//
// # Credentials
//
// [FromEnvironment] looks for credentials as every program with Amazon's library does, in this order: AWS_ACCESS_KEY_ID; a web
// identity (AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN); the shared files, of which it takes the profile AWS_PROFILE with its keys,
// its web identity or its credential_process; the container's (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI); the instance's
// role. It knows no sso, no login, and no role that another profile assumes: its error says which command gives such credentials.
// Credentials that end are renewed five minutes before; when that fails, the last ones are used until the service refuses them.
//
// # Library
//
// Of Amazon's library it links the signer and the sources of credentials, not the clients of services: these cost every process
// 3.8 MB of memory and 5 MB of program, in use or not, and those 0.1 MB and 0.3 MB. It is a module of its own, so that only its users
// have them.
//
// It is tested against a stand-in that verifies the signatures of requests (keyservicetest), not against the service.
package awskms
