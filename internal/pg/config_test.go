package pg_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// S28: only "1" and "true" switch verification off.
func TestTheInsecureFlagNeedsAClearYes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"1": true, "true": true, "": false, "0": false, "false": false, "yes": false, "TRUE": false, " 1": false} {
		cfg, err := pg.FromEnv(env(map[string]string{pg.EnvURL: "postgres://u@h/d", pg.EnvInsecure: value}))
		if err != nil || cfg.TLSInsecure != want {
			t.Errorf("%q: TLSInsecure is %v, want %v (error %v)", value, cfg.TLSInsecure, want, err)
		}
	}
}

func TestWithoutAURLTheStandardVariablesCount(t *testing.T) {
	t.Setenv("PGHOST", "db.example")
	t.Setenv("PGUSER", "ada")
	t.Setenv("PGDATABASE", "works")
	cfg, err := pg.FromEnv(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Redact(); got != `database "works" on db.example:5432 as user "ada"` {
		t.Fatalf("Redact returned %s", got)
	}
}

func TestTheURLsApplicationNameWins(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"postgres://h/d": "ours", "postgres://h/d?application_name=theirs": "theirs"} {
		parsed, err := pg.Config{URL: url, AppName: "ours"}.Parse()
		if err != nil || parsed.RuntimeParams["application_name"] != want {
			t.Errorf("%s: application_name of %v, want %s (error %v)", url, parsed.RuntimeParams, want, err)
		}
	}
}

func TestASocketHasNoTLS(t *testing.T) {
	t.Parallel()
	parsed, err := pg.Config{URL: "postgres:///d?host=/run/x,db.example", TLSInsecure: true}.Parse()
	if err != nil || parsed.TLSConfig != nil || len(parsed.Fallbacks) != 1 || parsed.Fallbacks[0].TLSConfig == nil {
		t.Fatalf("Parse returned %+v and %v, want TLS for the second host alone", parsed, err)
	}
}

// A path that the system cannot connect to is refused before anything waits for it.
func TestTheLongestSocket(t *testing.T) {
	t.Parallel()
	folder := func(bytes int) string { return "/" + strings.Repeat("x", bytes-1) }
	room := 107 - len("/.s.PGSQL.5432")
	if _, err := (pg.Config{URL: "postgres:///d?host=" + folder(room)}).Parse(); err != nil {
		t.Error(err)
	}
	for _, url := range []string{
		"postgres:///d?host=" + folder(room+1), "postgres:///d?port=54321&host=" + folder(room), "host=h," + folder(room+1), "host=" + folder(room) + "/.. port=15432",
	} {
		if _, err := (pg.Config{URL: url}).Parse(); err == nil || !strings.Contains(err.Error(), "the system takes 107: use a shorter folder") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// The message never contains the password, since it goes to logs.
func TestAnUnusableURLNeverShowsThePassword(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, url := range []string{
		"postgres://u:" + secret + "@h:port/d",
		"postgres://u:" + secret + "/x@h/d",
		"postgres://u:a:" + secret + "@h:x/d",
		"postgres://u:%" + secret + "@h/d",
		"postgres://u:" + secret + "@h/d?sslmode=nonsense",
		"postgres://u:" + secret + "@h/d?connect_timeout=soon",
		"host=h password='" + secret,
		"u:" + secret + "@h",
		"password=" + secret + " port=x",
		"postgres://h:" + secret,
	} {
		cfg := pg.Config{URL: url}
		_, err := cfg.Parse()
		if err == nil {
			t.Errorf("Parse(%s) returned no error", url)
			continue
		}
		for _, text := range []string{err.Error(), pg.Sentence(err), cfg.Redact()} {
			if strings.Contains(text, secret) || strings.Contains(text, "\n") {
				t.Errorf("%s: the text contains the password or a line break: %s", url, text)
			}
		}
	}
}

// The error for a common mistake says what to write instead.
func TestAnUnusableURLSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mysql://u:hunter2@h/d":       "begins with mysql://, and conch works with PostgreSQL alone: write postgres://",
		"jdbc:postgresql://h/d":       "begins with jdbc:postgresql://",
		"'postgres://u@h/d'":          "no space or quotation mark before it",
		"localhost:5432/d":            "neither a URL nor a list of keywords and values: write postgres://",
		"postgres://u:hun@ter2@h/d":   "write it as %40",
		"postgresql://u:hun@ter2@h/d": "write it as %40",
	} {
		_, err := pg.Config{URL: url}.Parse()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: got %v, want an error with %q and no password", url, err, want)
		}
	}
	for _, url := range []string{"postgres://h/d", "postgresql://h/d", "host=h dbname=d", "", "postgres://u:hun%40ter2@h/d"} {
		if _, err := (pg.Config{URL: url}).Parse(); err != nil {
			t.Errorf("Parse(%q) returned %v", url, err)
		}
	}
}

// authority signs certificates for 127.0.0.1, without a host name.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	writePEM(t, a.file, "CERTIFICATE", a.sign(t, a.cert, a.key))
	return a
}

func (a *authority) sign(t *testing.T, cert *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tlsServer(t *testing.T, a *authority, lasts time.Duration) *postmaster.Server {
	t.Helper()
	server := pgtest.Own(t, postmaster.Config{TCP: true})
	key := newKey(t)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string){
		"server.key": func(path string) { writePEM(t, path, "EC PRIVATE KEY", der) },
		"server.crt": func(path string) { writePEM(t, path, "CERTIFICATE", a.sign(t, leaf, key)) },
	} {
		path := filepath.Join(server.DataDir(), name)
		write(path)
		if err := server.Give(path); err != nil {
			t.Fatal(err)
		}
	}
	admin := pgtest.Connect(t, pg.Config{URL: server.URL("postgres")})
	for _, sql := range []string{"ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Eventually(t, patience, "the server speaks TLS", func() bool {
		encrypted, err := isEncrypted(t, pg.Config{URL: server.TCPURL("postgres") + "?sslmode=prefer"})
		return err == nil && encrypted
	})
	return server
}

func isEncrypted(t *testing.T, cfg pg.Config) (encrypted bool, err error) {
	t.Helper()
	conn, err := pg.Connect(t.Context(), cfg)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	err = conn.QueryRow(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&encrypted)
	return encrypted, err
}

// S28: the TLS of connections to a real server.
func TestTLS(t *testing.T) {
	t.Parallel()
	trusted, stranger := newAuthority(t), newAuthority(t)
	server := tlsServer(t, trusted, time.Hour)
	ip := server.TCPURL("postgres")
	name := strings.Replace(ip, "127.0.0.1", "localhost", 1)
	for what, test := range map[string]struct {
		cfg       pg.Config
		encrypted bool
		fails     string // part of the sentence
	}{
		"sslmode is honoured":                    {cfg: pg.Config{URL: ip + "?sslmode=disable"}},
		"prefer encrypts and trusts":             {cfg: pg.Config{URL: ip}, encrypted: true},
		"insecure encrypts, whatever the URL":    {cfg: pg.Config{URL: name + "?sslmode=disable", TLSInsecure: true}, encrypted: true},
		"the authority is known":                 {cfg: pg.Config{URL: ip, TLSCAFile: trusted.file}, encrypted: true},
		"the authority counts, whatever the URL": {cfg: pg.Config{URL: ip + "?sslmode=disable", TLSCAFile: trusted.file}, encrypted: true},
		"another authority":                      {cfg: pg.Config{URL: ip, TLSCAFile: stranger.file}, fails: "an authority that is not trusted"},
		"another host":                           {cfg: pg.Config{URL: name, TLSCAFile: trusted.file}, fails: "for another host"},
		"require verifies, unlike libpq":         {cfg: pg.Config{URL: ip + "?sslmode=require"}, fails: "name the file of its authority in CONCH_DB_TLS_CA_FILE, or encrypt without knowing the server with CONCH_DB_TLS_INSECURE=1"},
		"require with sslrootcert":               {cfg: pg.Config{URL: ip + "?sslmode=require&sslrootcert=" + trusted.file}, encrypted: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			encrypted, err := isEncrypted(t, test.cfg)
			if test.fails != "" {
				if err == nil || !strings.Contains(pg.Sentence(err), test.fails) {
					t.Fatalf("got %q (error %v), want a sentence with %q", pg.Sentence(err), err, test.fails)
				}
				return
			}
			if err != nil || encrypted != test.encrypted {
				t.Fatalf("encrypted is %v, want %v (error %v)", encrypted, test.encrypted, err)
			}
			shown, err := pg.ServerCertificate(t.Context(), test.cfg)
			if verified := strings.Contains(test.cfg.URL+test.cfg.TLSCAFile, trusted.file); err != nil || (len(shown) > 0) != verified {
				t.Errorf("%d certificates prove the server, verified is %t (error %v)", len(shown), verified, err)
			}
		})
	}
}

// What a server shows is known also when it has ended, and nobody can connect any more.
func TestTheEndOfAServersCertificate(t *testing.T) {
	t.Parallel()
	trusted := newAuthority(t)
	server := tlsServer(t, trusted, -time.Minute)
	for _, cfg := range []pg.Config{
		{URL: server.TCPURL("postgres"), TLSCAFile: trusted.file},
		{URL: server.TCPURL("postgres") + "?sslmode=verify-ca&sslrootcert=" + trusted.file},
	} {
		if _, err := isEncrypted(t, cfg); err == nil || !strings.Contains(pg.Sentence(err), "renew it") {
			t.Errorf("got %v, want that somebody has to renew it", err)
		}
		if shown, err := pg.ServerCertificate(t.Context(), cfg); err != nil || len(shown) != 1 || shown[0].Subject.CommonName != "server" {
			t.Errorf("got %v, error %v", shown, err)
		}
	}
	key := newKey(t)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "client")
	writePEM(t, own+".key", "EC PRIVATE KEY", der)
	writePEM(t, own+".crt", "CERTIFICATE", trusted.sign(t, &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour)}, key))
	mine := pg.Config{URL: server.TCPURL("postgres") + "?sslmode=require&sslcert=" + own + ".crt&sslkey=" + own + ".key"}.ClientCertificate()
	if len(mine) != 1 || mine[0].Subject.CommonName != "node" {
		t.Errorf("the node logs in by %v", mine)
	}
	if none := (pg.Config{URL: server.TCPURL("postgres")}).ClientCertificate(); none != nil {
		t.Errorf("the node logs in by %v", none)
	}
}

// S28: a configuration that asks for TLS never connects in plain text.
func TestNoPlainTextWhereTLSIsAskedFor(t *testing.T) {
	t.Parallel()
	plain := pgtest.Own(t, postmaster.Config{TCP: true}).TCPURL("postgres")
	for _, cfg := range []pg.Config{
		{URL: plain, TLSInsecure: true},
		{URL: plain, TLSCAFile: newAuthority(t).file},
		{URL: plain + "?sslmode=require"},
	} {
		if _, err := isEncrypted(t, cfg); err == nil || !strings.Contains(pg.Sentence(err), "offers no TLS") {
			t.Errorf("%+v: got %v, want an error", cfg, err)
		}
	}
}

// A server that is spoken to in TLS at once refuses a client that does not name the protocol.
func TestDirectTLSNamesItsProtocol(t *testing.T) {
	t.Parallel()
	file := newAuthority(t).file
	for _, cfg := range []pg.Config{{}, {TLSInsecure: true}, {TLSCAFile: file}} {
		cfg.URL = "postgres://h,i/d?sslmode=require&sslnegotiation=direct"
		parsed, err := cfg.Parse()
		if err != nil || !slices.Equal(parsed.TLSConfig.NextProtos, []string{"postgresql"}) || !slices.Equal(parsed.Fallbacks[0].TLSConfig.NextProtos, []string{"postgresql"}) {
			t.Errorf("%+v: got %+v and %v", cfg, parsed, err)
		}
	}
}

// S28: a bad CA file is an error even if no connection would use it.
func TestABadAuthorityFileIsAnError(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{empty, filepath.Join(t.TempDir(), "missing.pem")} {
		_, err := pg.Config{URL: "postgres:///db?host=/tmp", TLSCAFile: file}.Parse()
		var bad *pg.ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want a *ConfigError that names the file", file, err)
		}
	}
}
