// Package gcpkms signs hashes with a version of a key in Google Cloud KMS, of the algorithm EC_SIGN_SECP256K1_SHA256, which Google
// offers at the protection level HSM. The algorithm's name has SHA256 in it; what is signed are the 32 bytes that it is given.
//
// It asks over the REST API, since Google's client would bring gRPC into every conch. Credentials are the
// application default credentials, found by Google's library golang.org/x/oauth2: GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud,
// or the machine's service account; CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS names another endpoint. The permissions
// cloudkms.cryptoKeyVersions.useToSign and .viewPublicKey are needed (roles/cloudkms.signerVerifier has both).
//
// It is tested against a stand-in (keyservicetest), not against the service.
package gcpkms
