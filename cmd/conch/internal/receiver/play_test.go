package receiver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/webhook"
)

// The secrets of all receivers that tests play.
var (
	secretPath  = "/services/T0SECRET0/B0SECRET0/xSECRETx7Zq"
	secretKey   = "R0SECRETroutingkey0123456789abcd"
	secretToken = "tok-SECRET/+bearer"
	secretSign  = "whsec_" + base64.StdEncoding.EncodeToString([]byte("SECRET-that-signs-all-of-it"))
	secretMail  = "p@ss SECRET <word>"
)

// begun is when everything fires in tests, and now is when it is told.
var (
	begun = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	now   = begun.Add(90 * time.Second)
)

// fileOf writes a secret to a file of its owner.
func fileOf(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// configOf returns a receiver of a kind at an address, with all secrets that the kind can have.
func configOf(t testing.TB, kind, base string) Config {
	t.Helper()
	c := Config{Name: "the " + kind, Kind: kind}
	switch kind {
	case PagerDuty:
		c.URL, c.RoutingKeyFile = base, fileOf(t, secretKey)
	case Slack, Heartbeat:
		c.URLFile = fileOf(t, base+secretPath)
	case Webhook:
		c.URLFile, c.SecretFile, c.TokenFile = fileOf(t, base+secretPath+"?sig=SECRETquery0123"), fileOf(t, secretSign), fileOf(t, secretToken)
	case Alertmanager:
		c.URLFile, c.TokenFile = fileOf(t, strings.Replace(base, "://", "://user:SECRETpassword@", 1)+secretPath), fileOf(t, secretToken)
	case Email:
		c.Server, c.TLS = strings.TrimPrefix(base, "smtp://"), startTLS
		c.Username, c.PasswordFile, c.From, c.To = "conch", fileOf(t, secretMail), "conch <conch@example.com>", []string{"ops@example.com"}
	}
	return c
}

// overHTTP are the kinds that are told by HTTP.
var overHTTP = []string{PagerDuty, Slack, Webhook, Alertmanager, Heartbeat}

// open opens a receiver whose clock stands still.
func open(t testing.TB, c Config) *Receiver {
	t.Helper()
	for key, fault := range c.faults() {
		t.Fatalf("%s: %s", key, fault)
	}
	r := c.Open(os.Getenv, func(key string, err error) { t.Errorf("%s: %v", key, err) })
	if r == nil {
		t.Fatal("the receiver cannot be opened")
	}
	r.now = func() time.Time { return now }
	return r
}

// sample is a message about some scopes.
func sample(members, others int) alerts.Message {
	m := alerts.Message{
		Key: "conch/prod/NoLeader/6f1c", Seq: 42, Rule: "NoLeader", Severity: "page", Status: alerts.Firing,
		Group: map[string]string{"cluster_part": "east"}, Others: others, Since: begun,
	}
	for i := range members {
		scope := fmt.Sprintf("scope-%d", i)
		if i == 1 {
			scope = "<!channel> & \u202ebad\r\nBcc: all@example.com"
		}
		m.Members = append(m.Members, alerts.Firer{Labels: map[string]string{"scope": scope}, Value: float64(i) / 2, Since: begun.Add(time.Duration(i) * time.Second)})
	}
	return m
}

var (
	texts = Texts{
		Labels:      map[string]string{"team": "core"},
		Annotations: map[string]string{"summary": "{{ $labels.scope }} has no leader", "description": "Value {{ $value }}.\nLook at the page.", "runbook_url": "https://example.com/runbook"},
	}
	home = Place{Cluster: "prod", PublicURL: "https://conch.example/ops"}
)

// tell tells a receiver of a sample, and gives up after a while: a real one is given longer.
func tell(t testing.TB, r *Receiver, may func() error) (alerts.Answer, error) {
	t.Helper()
	var act webhook.Act
	if may != nil {
		act = func(write func(context.Context) error) error {
			if err := may(); err != nil {
				return err
			}
			return write(t.Context())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return r.Tell(ctx, act, home.Write(texts, sample(2, 0)))
}

// heard is what a played receiver was sent.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) add(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, text)
}

func (h *heard) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.all...)
}

// play serves HTTP on this host.
func play(t testing.TB, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

// raw plays a receiver that answers with bytes of its own: what it returns is sent after each request, and then it hangs up.
func raw(t testing.TB, answer string) string {
	t.Helper()
	s := play(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.ReadAll(req.Body)
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	})
	return s.URL
}

// office is an SMTP server of one's own. Each command, and each letter as "DATA …", is given to its answer, which says what to reply; "" hangs up.
type office struct {
	address string
	roots   string // file of the authority that has signed its certificate
	letters *heard
	said    *heard
}

func openOffice(t testing.TB, answer func(command string) string) *office {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	t.Cleanup(certified.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pemOf(certified.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &office{address: l.Addr().String(), roots: file, letters: &heard{}, said: &heard{}}
	conf := &tls.Config{Certificates: certified.TLS.Certificates}
	var work sync.WaitGroup
	done := make(chan struct{})
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				work.Go(func() { <-done; _ = c.Close() })
				o.serve(c, conf, answer)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); close(done); work.Wait() })
	return o
}

// usual is what a mail server replies to a command.
func usual(command string) string {
	word, _, _ := strings.Cut(command, " ")
	switch strings.ToUpper(word) {
	case "GREETING":
		return "220 here"
	case "EHLO":
		return "250-here\r\n250-STARTTLS\r\n250-AUTH PLAIN\r\n250 ENHANCEDSTATUSCODES"
	case "STARTTLS":
		return "220 go"
	case "AUTH":
		return "235 2.7.0 ok"
	case "DATA":
		if command != "DATA" {
			return "250 2.0.0 taken"
		}
		return "354 go"
	case "QUIT":
		return "221 bye"
	}
	return "250 2.0.0 ok"
}

func (o *office) serve(c net.Conn, conf *tls.Config, answer func(string) string) {
	at := textproto.NewConn(c)
	said := ""
	reply := func(command string) bool {
		said = answer(command)
		return said != "" && at.PrintfLine("%s", said) == nil
	}
	for ok := reply("GREETING"); ok; {
		line, err := at.ReadLine()
		if err != nil {
			return
		}
		o.said.add(line)
		ok = reply(line)
		switch {
		case !ok:
		case line == "STARTTLS" && strings.HasPrefix(said, "220"):
			at = textproto.NewConn(tls.Server(c, conf))
		case line == "DATA" && strings.HasPrefix(said, "354"):
			text, err := at.ReadDotBytes()
			if err != nil {
				return
			}
			o.letters.add(string(text))
			ok = reply("DATA " + string(text))
		case line == "QUIT":
			return
		}
	}
}

// mailbox opens a receiver at an office.
func (o *office) mailbox(t testing.TB, change func(*Config)) *Receiver {
	t.Helper()
	c := configOf(t, Email, "smtp://"+o.address)
	c.CAFile = o.roots
	if change != nil {
		change(&c)
	}
	return open(t, c)
}

func pemOf(c *x509.Certificate) []byte {
	return []byte("-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString(c.Raw) + "\n-----END CERTIFICATE-----\n")
}

// faultOfError returns the fault, which each answer but taken has.
func faultOfError(t testing.TB, err error) *FaultError {
	t.Helper()
	var f *FaultError
	if !errors.As(err, &f) {
		t.Fatalf("the error %v is no fault", err)
	}
	return f
}
