//go:build unix

package ui_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/fleet"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// nginx runs one before nodes until the test ends, and returns where it listens. AT in its locations is that.
func nginx(t *testing.T, locations string) string {
	t.Helper()
	program := ""
	for _, name := range []string{os.Getenv("CONCH_NGINX"), "nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		runtest.Missing(t, "there is no nginx here: run scripts/proxies.sh, or install it (Debian: apt-get install nginx); CONCH_NGINX names one")
	}
	at, err := fleet.LowPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`pid DIR/pid; daemon off; master_process off; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  server { listen %s; location = /ready { return 200; }
%s
  }
}
`, at, locations)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(program, "-p", dir, "-c", file, "-e", "stderr")
	cmd.Stderr = &said
	p := proctest.Start(t, cmd)
	pgtest.Eventually(t, patience, "nginx serves", func() bool {
		select {
		case <-p.Gone():
			t.Fatalf("nginx has ended: %s", said.String())
		default:
		}
		status, _ := asks(t, http.MethodGet, "http://"+at+"/ready", "")
		return status == http.StatusOK
	})
	return at
}

// asks returns the answer to a request as a browser makes it from the page at that address; 0: there was none.
func asks(t *testing.T, method, address, body string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://"+r.URL.Host) // and no Sec-Fetch-Site, as an old browser
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(all)
}

// F8, S32, rules 3 and 6: below a path of a real nginx the page is live, names are whole, and actions work. One that replaces Host needs
// public_url, and one that holds the stream back is named on the page.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	browser(t)
	const scope = "tenant-1/a%2Fb?d#e"
	db := pgtest.Own(t, postmaster.Config{}).URL("postgres")
	migrated(t, db)
	plain := started(t, db, "node-1", "127.0.0.1:0", scope)
	port := func(p *process) string { return strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/") }
	kept := nginx(t, `location /teams/blue/ { proxy_pass http://`+port(plain)+`/; proxy_set_header Host $http_host; proxy_read_timeout 1h; }
location /replaced/ { proxy_pass http://`+port(plain)+`/; }
location /held/ { proxy_pass http://`+port(plain)+`/; proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_proxied any; gzip_types text/event-stream; }`)
	below := "http://" + kept + "/teams/blue/"
	pgtest.Eventually(t, patience, "the scope is led", func() bool {
		_, text := asks(t, http.MethodGet, plain.url+"v1/scope?scope="+url.QueryEscape(scope), "")
		return strings.Contains(text, `"held":true`)
	})

	if status, text := asks(t, http.MethodGet, below+"v1/scope?scope="+url.QueryEscape(scope), ""); status != 200 || !strings.Contains(text, `"scope":"tenant-1/a%2Fb?d#e"`) {
		t.Errorf("one scope by its name in the query: %d %s", status, text)
	}
	if status, _ := asks(t, http.MethodGet, below+"v1/scopes/"+url.PathEscape(scope), ""); status != http.StatusNotFound {
		t.Errorf("by its name in the path: %d; nginx decodes it no more, and docs/dashboard.md may say so", status)
	}
	drain := `{"scope":"` + scope + `","if_epoch":999}` // of another epoch: it comes through, and changes nothing
	if status, text := asks(t, http.MethodPost, below+"v1/drain", drain); status != http.StatusConflict || !strings.Contains(text, "other-epoch") {
		t.Errorf("a drain with Host kept: %d %s, want 409", status, text)
	}
	if status, text := asks(t, http.MethodPost, "http://"+kept+"/replaced/v1/drain", drain); status != http.StatusForbidden {
		t.Errorf("a drain with Host replaced: %d %s, want 403", status, text)
	}
	if status, text := asks(t, http.MethodPost, told(t, db)+"v1/drain", drain); status != http.StatusConflict {
		t.Errorf("a drain with Host replaced and public_url: %d %s, want 409", status, text)
	}

	b := open(t, below, desk)
	b.says("are led") // this scope, and that of the other node
	b.until("it is live", "document.querySelector('header .live')?.innerText.includes('live')")
	b.press("tenant-1/a%2Fb?d#e")
	b.until("its page is there", "location.hash.startsWith('#/leaders/s?scope=tenant-1%2Fa%252Fb%3Fd%23e') && document.querySelector('h1').innerText.includes('tenant-1/a%2Fb?d#e')")
	held := open(t, "http://"+kept+"/held/", desk)
	held.says("a proxy holds the stream back")
	held.says("are led")
}

// told starts a node that was told where a proxy before it is, which replaces Host, and returns that.
func told(t *testing.T, db string) string {
	t.Helper()
	at, err := fleet.LowPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proxy := nginx(t, "location /ops/ { proxy_pass http://"+at+"/; }")
	startedWith(t, db, "node-2", at, "public_url = \"http://"+proxy+"/ops\"\n", "other")
	return "http://" + proxy + "/ops/"
}

// The stream of a page comes through nginx as it is told, with the header by which the node asks for that.
func TestNginxPassesTheStreamOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs processes")
	}
	db := pgtest.Own(t, postmaster.Config{}).URL("postgres")
	migrated(t, db)
	node := started(t, db, "node-1", "127.0.0.1:0", "payments")
	at := nginx(t, "location /c/ { proxy_pass "+node.url+"; proxy_set_header Host $http_host; }")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/c/v1/events?live=yes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	beats := 0
	for lines := bufio.NewScanner(answer.Body); beats < 3 && lines.Scan(); { // three seconds of a stream that does not end
		if lines.Text() == "event: beats" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("the stream had %d beats: %v", beats, ctx.Err())
	}
}
