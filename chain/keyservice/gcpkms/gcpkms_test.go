package gcpkms_test

import (
	"testing"

	"golang.org/x/oauth2/google"

	"github.com/conchhq/conch/chain/keyservice/gcpkms"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
)

// The credentials are a service account's file, and the stand-in verifies its assertions.
func TestExercise(t *testing.T) {
	t.Parallel()
	keyservicetest.Exercise(t, keyservicetest.Google, func(t *testing.T, s *keyservicetest.StandIn) keyservicetest.Service {
		t.Helper()
		account, err := google.JWTConfigFromJSON([]byte(s.ServiceAccount()), "https://www.googleapis.com/auth/cloudkms")
		if err != nil {
			t.Fatal(err)
		}
		c, err := gcpkms.Open(gcpkms.Config{Key: s.Name, Endpoint: s.URL, Tokens: account.TokenSource(t.Context())})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	})
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"projects/shop/locations/europe-west1/keyRings/payouts/cryptoKeys/hot/cryptoKeyVersions/1": true,
		"projects/shop/locations/europe-west1/keyRings/payouts/cryptoKeys/hot":                     false,
		"":                      false,
		"projects/../locations": false,
	} {
		if err := gcpkms.ParseKey(key); (err == nil) != good {
			t.Errorf("%q: got %v, want good: %v", key, err, good)
		}
	}
}
