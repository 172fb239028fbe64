package vault

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/internal/rest"
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
	keyForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	dots    = regexp.MustCompile(`(^|/)\.\.?(/|$)`)
)

// ParseKey returns an error unless the text is a mount and a name.
func ParseKey(key string) error {
	if !keyForm.MatchString(key) || dots.MatchString(key) {
		return errors.New("name a mount and a key in it, such as vault:transit/payouts")
	}
	return nil
}

// Service is a key in Vault. It is safe for concurrent use.
type Service struct {
	at     string // of the mount
	name   string
	shown  string
	header func() (http.Header, error) // a function, so that no print shows the token
	client *http.Client
}

// Open returns the service. It connects to nothing.
func Open(c Config) (*Service, error) {
	if err := ParseKey(c.Key); err != nil {
		return nil, err
	}
	at, err := url.Parse(c.Address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
		return nil, errors.New("the address of Vault is not a URL such as https://vault.example:8200: correct VAULT_ADDR")
	}
	roots, err := secretfile.Roots(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("the CA file of Vault: %w", err)
	}
	slash := strings.LastIndexByte(c.Key, '/')
	s := &Service{
		at: at.JoinPath("v1", c.Key[:slash]).String(), name: c.Key[slash+1:], shown: "Vault's key " + c.Key,
		client: rest.Client(&http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}),
	}
	s.header = func() (http.Header, error) {
		header := http.Header{"X-Vault-Request": {"true"}}
		if c.Namespace != "" {
			header.Set("X-Vault-Namespace", c.Namespace)
		}
		if c.Token == nil {
			return header, nil
		}
		token, err := c.Token()
		if err != nil || token == "" {
			return header, err
		}
		header.Set("X-Vault-Token", token)
		return header, nil
	}
	return s, nil
}

// Close closes the connections.
func (s *Service) Close() { s.client.CloseIdleConnections() }

// String names the key.
func (s *Service) String() string { return s.shown }

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
		return nil, &keyservice.FaultError{Kind: keyservice.Unfit, Service: s.shown, Detail: "it has no public key; its type is " + keyservice.Code(strings.ReplaceAll(key.Type, "-", "_"))}
	}
	return rest.PublicKey(s.shown, newest)
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
		return nil, rest.Unread(s.shown, "signature")
	}
	return der, nil
}

func (s *Service) ask(ctx context.Context, method, path string, body, data any) error {
	header, err := s.header()
	if err != nil {
		return &keyservice.FaultError{Kind: keyservice.Denied, Service: s.shown, Detail: "its token cannot be read"}
	}
	answer, err := rest.Ask(ctx, s.client, s.shown, method, s.at+path, header, body)
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		return &keyservice.FaultError{Kind: s.kind(answer), Service: s.shown, Detail: "HTTP " + strconv.Itoa(answer.Status)}
	}
	if json.Unmarshal(answer.Body, &struct {
		Data any `json:"data"`
	}{data}) != nil {
		return rest.Unread(s.shown, "data")
	}
	return nil
}

// kind reads an answer without success. 429 is a quota, since a standby says so only where it is asked for its health; a sealed
// server says 503.
func (s *Service) kind(a rest.Answer) keyservice.Kind {
	if a.Status != http.StatusBadRequest {
		return keyservice.OfStatus(a.Status)
	}
	var said struct {
		Errors []string `json:"errors"`
	}
	_ = json.Unmarshal(a.Body, &said)
	text := strings.ToLower(strings.Join(said.Errors, " "))
	switch {
	case strings.Contains(text, "not found"), strings.Contains(text, "no existing key"):
		return keyservice.Missing
	case strings.Contains(text, "does not support"), strings.Contains(text, "unsupported key"):
		return keyservice.Unfit
	case strings.Contains(text, "deleted"), strings.Contains(text, "disabled"):
		return keyservice.Disabled
	}
	return keyservice.Refused
}
