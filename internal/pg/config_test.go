package pg_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg"
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
