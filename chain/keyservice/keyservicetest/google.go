package keyservicetest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/keyservice"
)

// google speaks the REST API of Cloud KMS.
type google struct{}

func sum(text []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))), 10)
}

func (google) verify(_ *StandIn, r *http.Request, _ []byte) (string, string) {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		return "the token is wrong", ""
	}
	return "", ""
}

func (google) read(s *StandIn, r *http.Request, body []byte) (operation, []byte) {
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/" + s.Name + "/publicKey":
		return showKey, nil
	case "POST /v1/" + s.Name + ":asymmetricSign":
		var asked struct {
			Digest       struct{ Sha256 []byte }
			DigestCrc32c string
		}
		if json.Unmarshal(body, &asked) == nil && asked.DigestCrc32c == sum(asked.Digest.Sha256) {
			return sign, asked.Digest.Sha256
		}
	}
	return none, nil
}

func (google) key(s *StandIn, public []byte) any {
	text := inPEM(public)
	return map[string]any{"pem": text, "algorithm": "EC_SIGN_SECP256K1_SHA256", "pemCrc32c": sum([]byte(text)), "name": s.Name, "protectionLevel": "HSM"}
}

func (google) signed(s *StandIn, signature []byte) any {
	return map[string]any{"signature": signature, "signatureCrc32c": sum(signature), "verifiedDigestCrc32c": true, "name": s.Name, "protectionLevel": "HSM"}
}

func (google) fault(kind keyservice.Kind, _, text string) (int, any) {
	said := map[keyservice.Kind]struct {
		status int
		code   string
	}{
		keyservice.Throttled: {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"}, keyservice.Denied: {http.StatusForbidden, "PERMISSION_DENIED"},
		keyservice.Disabled: {http.StatusBadRequest, "FAILED_PRECONDITION"}, keyservice.Missing: {http.StatusNotFound, "NOT_FOUND"},
		keyservice.Away: {http.StatusServiceUnavailable, "UNAVAILABLE"}, keyservice.Refused: {http.StatusBadRequest, "INVALID_ARGUMENT"},
	}[kind]
	return said.status, map[string]any{"error": map[string]any{"code": said.status, "message": text, "status": said.code}}
}

// account is a service account, to which tokens are given for assertions that its key has signed.
type account struct {
	url string
	key *rsa.PrivateKey
}

func newAccount(t testing.TB, at string) *account {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &account{url: at, key: key}
}

// ServiceAccount returns a file of credentials that the stand-in for Google takes.
func (s *StandIn) ServiceAccount() string {
	der, _ := x509.MarshalPKCS8PrivateKey(s.account.key) // cannot fail for such a key
	text, _ := json.Marshal(map[string]string{           //nolint:errchkjson // texts alone
		"type": "service_account", "project_id": "shop", "private_key_id": "1", "client_email": "node@shop.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.account.url + "/token",
	})
	return string(text)
}

func (a *account) serve(w http.ResponseWriter, body []byte) {
	form, _ := url.ParseQuery(string(body))
	parts := strings.Split(form.Get("assertion"), ".")
	w.Header().Set("Content-Type", "application/json")
	if len(parts) == 3 {
		hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		if rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, hash[:], signature) == nil {
			answer(w, map[string]any{"access_token": Token, "token_type": "Bearer", "expires_in": 3600})
			return
		}
	}
	w.WriteHeader(http.StatusBadRequest)
	answer(w, map[string]string{"error": "invalid_grant", "error_description": form.Get("assertion")})
}
