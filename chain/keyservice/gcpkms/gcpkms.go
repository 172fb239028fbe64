package gcpkms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"net/http"
	"strconv"

	"golang.org/x/oauth2"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/internal/rest"
	"github.com/conchhq/conch/internal/pattern"
)

const (
	scope   = "https://www.googleapis.com/auth/cloudkms"
	googles = "https://cloudkms.googleapis.com"
)

// Config says which key. Key is required.
type Config struct {
	Key      string             // resource name of a version of a key
	Endpoint string             // URL of the service; default Google's
	Tokens   oauth2.TokenSource // default: the application default credentials, looked for when they are needed
}

// FromEnvironment takes the endpoint from CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS.
func FromEnvironment(key string, getenv func(string) string) Config {
	return Config{Key: key, Endpoint: getenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS")}
}

var keyForm = pattern.Of(`^projects/[A-Za-z0-9.:_-]+/locations/[A-Za-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+/cryptoKeyVersions/[0-9]+$`)

// ParseKey returns an error unless the text is the resource name of a version of a key: a new version is a new account.
func ParseKey(key string) error {
	if !keyForm().MatchString(key) {
		return errors.New("name a version of a key, such as gcpkms:projects/shop/locations/europe-west1/keyRings/payouts/cryptoKeys/hot/cryptoKeyVersions/1")
	}
	return nil
}

type service = rest.Service

// Service is a version of a key in Google Cloud KMS. It is safe for concurrent use.
type Service struct {
	service
	at, key string
	tokens  *tokens
}

// Open returns the service. It connects to nothing, and looks for credentials when they are needed.
func Open(c Config) (*Service, error) {
	if err := ParseKey(c.Key); err != nil {
		return nil, err
	}
	at, good := rest.Address(cmp.Or(c.Endpoint, googles))
	if !good {
		return nil, errors.New("the endpoint of Google Cloud KMS is not a URL such as " + googles + ": correct CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS")
	}
	client, err := rest.Client("")
	if err != nil {
		return nil, err
	}
	s := &Service{at: at.JoinPath("v1", c.Key).String(), key: c.Key, tokens: &tokens{source: c.Tokens, client: client}}
	s.service = service{Shown: "Google Cloud KMS, key " + c.Key, Client: client, Authorize: s.authorize, Judge: s.judge}
	return s, nil
}

// PublicKey returns the public key, in DER.
func (s *Service) PublicKey(ctx context.Context) ([]byte, error) {
	var key struct {
		Name      string
		Pem       string
		PemCrc32c string
	}
	if err := s.Ask(ctx, http.MethodGet, s.at+"/publicKey", nil, nil, &key); err != nil {
		return nil, err
	}
	if key.Name != s.key || key.PemCrc32c != sum([]byte(key.Pem)) {
		return nil, s.garbled()
	}
	return s.ReadPEM(key.Pem)
}

// SignHash returns a signature of a hash, in DER.
func (s *Service) SignHash(ctx context.Context, hash [32]byte) ([]byte, error) {
	var signed struct {
		Name                 string
		Signature            []byte
		SignatureCrc32c      string
		VerifiedDigestCrc32c bool
	}
	err := s.Ask(ctx, http.MethodPost, s.at+":asymmetricSign", nil, map[string]any{"digest": map[string][]byte{"sha256": hash[:]}, "digestCrc32c": sum(hash[:])}, &signed)
	if err != nil {
		return nil, err
	}
	if signed.Name != s.key || !signed.VerifiedDigestCrc32c || signed.SignatureCrc32c != sum(signed.Signature) {
		return nil, s.garbled()
	}
	return signed.Signature, nil
}

// sum is the checksum that Google asks clients to compare, since a proxy may damage what TLS no longer covers.
func sum(text []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))), 10)
}

func (s *Service) garbled() error {
	return s.Fault(keyservice.Away, "its answer was damaged on its way")
}

var kinds = map[string]keyservice.Kind{
	"RESOURCE_EXHAUSTED":  keyservice.Throttled,
	"UNAVAILABLE":         keyservice.Away,
	"DEADLINE_EXCEEDED":   keyservice.Away,
	"INTERNAL":            keyservice.Away,
	"ABORTED":             keyservice.Away,
	"PERMISSION_DENIED":   keyservice.Denied,
	"UNAUTHENTICATED":     keyservice.Denied,
	"NOT_FOUND":           keyservice.Missing,
	"FAILED_PRECONDITION": keyservice.Disabled, // the version is in a state that does not sign
}

func (s *Service) authorize(r *http.Request, _ []byte) error {
	token, err := s.tokens.get(r.Context(), s.Shown)
	r.Header.Set("Authorization", "Bearer "+token)
	return err
}

func (s *Service) judge(a rest.Answer) (keyservice.Kind, string) {
	if a.Status == http.StatusUnauthorized {
		s.tokens.forget()
	}
	var said struct{ Error struct{ Status string } }
	_ = json.Unmarshal(a.Body, &said)
	if _, known := kinds[said.Error.Status]; !known {
		return keyservice.OfStatus(a.Status), ""
	}
	return a.Kind(kinds, said.Error.Status)
}
