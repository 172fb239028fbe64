package keyservicetest

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/keyservice"
)

// Provider is a service.
type Provider string

// The services.
const (
	AWS    Provider = "awskms"
	Google Provider = "gcpkms"
	Vault  Provider = "vault"
)

// Key is what a stand-in signs with.
type Key struct {
	Public []byte                   // DER
	Sign   func(hash []byte) []byte // returns DER
}

// Secrets that a stand-in takes. No error may show one of them.
const (
	AccessKey = "AKIASTANDIN000000000"
	SecretKey = "hunter2-aws-secret-key" //nolint:gosec // of a stand-in
	Session   = "hunter2-aws-session-token"
	Token     = "hunter2-token"
	Namespace = "shop"
	Region    = "eu-central-1"
)

// names are the keys of the stand-ins.
var names = map[Provider]string{
	AWS:    "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
	Google: "projects/shop/locations/europe-west1/keyRings/payouts/cryptoKeys/hot/cryptoKeyVersions/1",
	Vault:  "transit/payouts",
}

// StandIn is a server that stands in for a service.
type StandIn struct {
	Provider Provider
	URL      string
	Name     string // of the key, as the configuration has it behind the provider

	key     Key
	account *account // of Google

	mu      sync.Mutex
	broken  map[keyservice.Kind]bool
	garbled bool // it sends a body that is no answer
	hangs   bool
	ahead   time.Duration // of its clock
	left    int           // signatures until it throttles; below 0: any number
	calls   int
	signing int
	gate    chan struct{} // signatures wait until it is closed
	full    int           // how many signatures close the gate
	bad     []string      // what was wrong with requests
}

// Start starts a stand-in, which ends with the test.
func Start(t testing.TB, p Provider, key Key) *StandIn {
	t.Helper()
	s := &StandIn{Provider: p, Name: names[p], key: key, broken: map[keyservice.Kind]bool{}, left: -1}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	if p == Google {
		s.account = newAccount(t, s.URL)
	}
	return s
}

// Environment returns the variables that lead a program to it, with credentials that it takes.
func (s *StandIn) Environment(t testing.TB) []string {
	t.Helper()
	switch s.Provider {
	case AWS:
		return []string{
			"AWS_ENDPOINT_URL_KMS=" + s.URL, "AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_SESSION_TOKEN=" + Session,
			"AWS_EC2_METADATA_DISABLED=true",
		}
	case Google:
		file := filepath.Join(t.TempDir(), "account.json")
		if err := os.WriteFile(file, []byte(s.ServiceAccount()), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS=" + s.URL, "GOOGLE_APPLICATION_CREDENTIALS=" + file}
	case Vault:
		return []string{"VAULT_ADDR=" + s.URL, "VAULT_TOKEN=" + Token, "VAULT_NAMESPACE=" + Namespace}
	}
	return nil
}

// Break has it fail in one way from now on; Mend ends that.
func (s *StandIn) Break(kind keyservice.Kind) {
	s.change(func() { s.broken = map[keyservice.Kind]bool{kind: true} })
}

// Hang has it answer nothing.
func (s *StandIn) Hang() { s.change(func() { s.hangs = true }) }

// Garble has it answer what is no answer.
func (s *StandIn) Garble() { s.change(func() { s.garbled = true }) }

// Mend has it work again.
func (s *StandIn) Mend() {
	s.change(func() { s.broken, s.hangs, s.garbled, s.left = map[keyservice.Kind]bool{}, false, false, -1 })
}

// ThrottleAfter has it throttle after so many more signatures.
func (s *StandIn) ThrottleAfter(n int) { s.change(func() { s.left = n }) }

// Use changes its key.
func (s *StandIn) Use(key Key) { s.change(func() { s.key = key }) }

// SetAhead has its clock show a later time. Only AWS looks at it.
func (s *StandIn) SetAhead(by time.Duration) { s.change(func() { s.ahead = by }) }

// HoldUntil lets no signature go before so many are asked for at once.
func (s *StandIn) HoldUntil(n int) { s.change(func() { s.gate, s.full = make(chan struct{}), n }) }

func (s *StandIn) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Calls returns how many requests there were.
func (s *StandIn) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Complaints returns what was wrong with requests.
func (s *StandIn) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad
}

func (s *StandIn) complain(what string) { s.change(func() { s.bad = append(s.bad, what) }) }

// ServeHTTP implements http.Handler.
func (s *StandIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if s.account != nil && r.URL.Path == "/token" {
		s.account.serve(w, body)
		return
	}
	kind, fails := s.begin()
	s.mu.Lock()
	hangs, garbled := s.hangs, s.garbled
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", s.clock().UTC().Format(http.TimeFormat))
	switch {
	case hangs:
		<-r.Context().Done()
	case garbled:
		_, _ = io.WriteString(w, `{"data":`)
	case fails:
		s.fail(w, kind, "", echo(r))
	default:
		s.serve(w, r, body)
	}
}

// serve lets a request in, and does what it asks for.
func (s *StandIn) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	speaks := dialects[s.Provider]
	if wrong, code := speaks.verify(s, r, body); wrong != "" {
		s.complain(wrong)
		s.fail(w, keyservice.Denied, code, echo(r))
		return
	}
	asked, hash := speaks.read(s, r, body)
	switch {
	case asked == showKey:
		s.mu.Lock()
		public := s.key.Public
		s.mu.Unlock()
		answer(w, speaks.key(s, public))
	case asked == sign && len(hash) == 32:
		signature, throttled := s.sign(hash)
		if throttled {
			s.fail(w, keyservice.Throttled, "", "")
			return
		}
		answer(w, speaks.signed(s, signature))
	default:
		s.complain("what is asked for is neither the key nor a signature of a hash: " + r.Method + " " + r.URL.Path + " " + string(body))
		s.fail(w, keyservice.Refused, "", "")
	}
}

func (s *StandIn) fail(w http.ResponseWriter, kind keyservice.Kind, code, text string) {
	status, body := dialects[s.Provider].fault(kind, code, text)
	w.WriteHeader(status)
	answer(w, body)
}

// clock is the time that it has.
func (s *StandIn) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

// echo is what a careless proxy writes into its errors: all that it was sent.
func echo(r *http.Request) string {
	var all strings.Builder
	_ = r.Header.Write(&all)
	return all.String() + "\x1b[2J" + SecretKey
}

// begin counts a call, and returns in which way it fails.
func (s *StandIn) begin() (keyservice.Kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for kind := range s.broken {
		return kind, true
	}
	return 0, false
}

// sign signs, unless it is to throttle.
func (s *StandIn) sign(hash []byte) (signature []byte, throttled bool) {
	s.mu.Lock()
	if s.left == 0 {
		s.mu.Unlock()
		return nil, true
	}
	if s.left > 0 {
		s.left--
	}
	s.signing++
	gate, key := s.gate, s.key
	if gate != nil && s.signing == s.full {
		close(gate)
		s.gate = nil
	}
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	defer s.change(func() { s.signing-- })
	return key.Sign(hash), false
}

type operation int

const (
	none operation = iota
	showKey
	sign
)

// dialect is how a service speaks.
type dialect interface { //nolint:interfacebloat // a request and what answers it
	// verify returns why a request is not let in, and the code that says so if there is one of its own; empty: it is.
	verify(s *StandIn, r *http.Request, body []byte) (why, code string)
	// read returns what is asked for, and the hash that is to be signed.
	read(s *StandIn, r *http.Request, body []byte) (operation, []byte)
	key(s *StandIn, public []byte) any
	signed(s *StandIn, signature []byte) any
	// fault returns the answer of a kind, with a code if it has one of its own, and a text.
	fault(kind keyservice.Kind, code, text string) (status int, body any)
}

var dialects = map[Provider]dialect{AWS: aws{}, Google: google{}, Vault: vault{}}

func inPEM(public []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// answer writes an answer as JSON.
func answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: texts and numbers
	}
	_, _ = w.Write(text)
}
