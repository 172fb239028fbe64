package vault

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/internal/rest"
	"github.com/conchhq/conch/internal/pattern"
	"github.com/conchhq/conch/internal/secretfile"
)

// Config says where the key is. Key and Address are required.
type Config struct {
	Key       string                 // mount and name, such as "transit/payouts"
	Address   string                 // URL of the server, or of an agent that brings its own token
	Namespace string                 // sent as X-Vault-Namespace; optional
	Token     func() (string, error) // the token, asked for with each request, so that it may change; empty: none is sent. Optional
	CAFile    string                 // certificates to verify the server by instead of the system's; optional
}

// FromEnvironment reads VAULT_ADDR, VAULT_NAMESPACE, VAULT_CACERT, and VAULT_TOKEN, without which the token is the first line of the
// file .vault-token in the folder HOME, read with each request, as Vault's own program does.
func FromEnvironment(key string, getenv func(string) string) Config {
	return Config{
		Key: key, Address: cmp.Or(getenv("VAULT_ADDR"), "https://127.0.0.1:8200"), Namespace: getenv("VAULT_NAMESPACE"), CAFile: getenv("VAULT_CACERT"),
		Token: func() (string, error) {
			if token := getenv("VAULT_TOKEN"); token != "" {
				return token, nil
			}
			token, err := secretfile.Line(filepath.Join(getenv("HOME"), ".vault-token"))
			if errors.Is(err, os.ErrNotExist) {
				return "", nil
			}
			return token, err
		},
	}
}

var (
	keyForm = pattern.Of(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	dots    = pattern.Of(`(^|/)\.\.?(/|$)`)
)

// ParseKey returns an error unless the text is a mount and a name.
func ParseKey(key string) error {
	if !keyForm().MatchString(key) || dots().MatchString(key) {
		return errors.New("name a mount and a key in it, such as vault:transit/payouts")
	}
	return nil
}

type service = rest.Service

// Service is a key in Vault. It is safe for concurrent use.
type Service struct {
	service
	at   string // of the mount
	name string
}

// Open returns the service. It connects to nothing.
func Open(c Config) (*Service, error) {
	if err := ParseKey(c.Key); err != nil {
		return nil, err
	}
	at, good := rest.Address(c.Address)
	if !good {
		return nil, errors.New("the address of Vault is not a URL such as https://vault.example:8200: correct VAULT_ADDR")
	}
	client, err := rest.Client(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA file of Vault: %w", err)
	}
	slash := strings.LastIndexByte(c.Key, '/')
	s := &Service{at: at.JoinPath("v1", c.Key[:slash]).String(), name: c.Key[slash+1:]}
	s.service = service{
		Shown:  "Vault's key " + c.Key,
		Client: client,
		Judge:  judge,
		Authorize: func(r *http.Request, _ []byte) error {
			r.Header.Set("X-Vault-Request", "true")
			if c.Namespace != "" {
				r.Header.Set("X-Vault-Namespace", c.Namespace)
			}
			if c.Token == nil {
				return nil
			}
			token, err := c.Token()
			if err != nil {
				return s.Fault(keyservice.Denied, "its token cannot be read")
			}
			if token != "" {
				r.Header.Set("X-Vault-Token", token)
			}
			return nil
		},
	}
	return s, nil
}

// PublicKey returns the public key of the newest version, in DER.
func (s *Service) PublicKey(ctx context.Context) ([]byte, error) {
	var key struct {
		Type   string `json:"type"`
		Latest int    `json:"latest_version"`
		Keys   map[string]struct {
			PublicKey string `json:"public_key"`
		} `json:"keys"`
	}
	if err := s.ask(ctx, http.MethodGet, "/keys/"+s.name, nil, &key); err != nil {
		return nil, err
	}
	newest := key.Keys[strconv.Itoa(key.Latest)].PublicKey
	if newest == "" {
		return nil, s.Fault(keyservice.Unfit, "it has no public key; its type is "+keyservice.Code(strings.ReplaceAll(key.Type, "-", "_")))
	}
	return s.ReadPEM(newest)
}

// SignHash returns a signature of a hash, in DER.
func (s *Service) SignHash(ctx context.Context, hash [32]byte) ([]byte, error) {
	var signed struct {
		Signature string `json:"signature"`
	}
	err := s.ask(ctx, http.MethodPut, "/sign/"+s.name, map[string]any{
		"input": base64.StdEncoding.EncodeToString(hash[:]), "prehashed": true, "hash_algorithm": "sha2-256", "marshaling_algorithm": "asn1",
	}, &signed)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(signed.Signature, ":") // vault:v1:…
	der, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 3 {
		return nil, s.Unread("signature")
	}
	return der, nil
}

func (s *Service) ask(ctx context.Context, method, path string, body, data any) error {
	return s.Ask(ctx, method, s.at+path, nil, body, &struct {
		Data any `json:"data"`
	}{data})
}

// judge reads an answer without success. 429 is a quota, since a standby says so only where it is asked for its health; a sealed
// server says 503.
func judge(a rest.Answer) (keyservice.Kind, string) {
	if a.Status != http.StatusBadRequest {
		return keyservice.OfStatus(a.Status), ""
	}
	var said struct {
		Errors []string `json:"errors"`
	}
	_ = json.Unmarshal(a.Body, &said)
	text := strings.ToLower(strings.Join(said.Errors, " "))
	switch {
	case strings.Contains(text, "not found"), strings.Contains(text, "no existing key"):
		return keyservice.Missing, ""
	case strings.Contains(text, "does not support"), strings.Contains(text, "unsupported key"):
		return keyservice.Unfit, ""
	case strings.Contains(text, "deleted"), strings.Contains(text, "disabled"):
		return keyservice.Disabled, ""
	}
	return keyservice.Refused, ""
}
