package ui_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/ui"
)

// ask gets a page of the handler, unzipped.
func ask(t *testing.T, name string, zipped bool) (header http.Header, body, sent []byte) {
	t.Helper()
	pages, err := ui.Pages()
	if err != nil {
		t.Fatal(err)
	}
	r, out := httptest.NewRequestWithContext(t.Context(), http.MethodGet, name, http.NoBody), httptest.NewRecorder()
	if zipped {
		r.Header.Set("Accept-Encoding", "br, gzip")
	}
	if pages[name] == nil {
		t.Fatalf("nothing is served at %s", name)
	}
	pages[name].ServeHTTP(out, r)
	header, sent = out.Header(), out.Body.Bytes()
	body = sent
	if header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(plain); err != nil {
			t.Fatal(err)
		}
	}
	return header, body, sent
}

// F8: what the first screen needs has at most 45 kB on the wire, and everything that is served has 110.
func TestThePageIsSmall(t *testing.T) {
	t.Parallel()
	pages, err := ui.Pages()
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := ask(t, "/", false)
	first, all := 0, 0
	for name := range pages {
		_, body, sent := ask(t, name, true)
		all += len(sent)
		if name == "/" || bytes.Contains(page, []byte(strings.TrimPrefix(name, "/"))) {
			first += len(sent)
		}
		if len(body) < len(sent) {
			t.Errorf("%s: %d bytes are sent for %d", name, len(sent), len(body))
		}
	}
	t.Logf("%d bytes for the first screen, %d in all", first, all)
	if first > 45_000 || all > 110_000 {
		t.Errorf("%d bytes for the first screen, %d in all: at most 45,000 and 110,000", first, all)
	}
}

var (
	loads     = regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	elsewhere = regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}`)
	hashed    = regexp.MustCompile(`^/assets/[a-z]+-([0-9a-f]{12})\.(js|css|svg|txt)$`)
)

// The page loads what comes with it, by relative URLs: it works without internet and below any path of a proxy. The name of an
// asset has a hash of what is in it, so that a browser may keep it.
func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	pages, err := ui.Pages()
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := ask(t, "/", false)
	for _, found := range loads.FindAllSubmatch(page, -1) {
		if to := string(found[1]); pages["/"+to] == nil {
			t.Errorf("the page loads %q, which is not served, or not relative", to)
		}
	}
	for name := range pages {
		header, body, _ := ask(t, name, false)
		if away := elsewhere.Find(body); !strings.HasSuffix(name, ".txt") && away != nil && !bytes.Contains(away, []byte("www.w3.org")) { // names of XML, which nobody asks for
			t.Errorf("%s names %s", name, away)
		}
		if name == "/" {
			continue
		}
		sum := sha256.Sum256(body)
		if parts := hashed.FindStringSubmatch(name); parts == nil || parts[1] != hex.EncodeToString(sum[:])[:12] {
			t.Errorf("%s is not named after what is in it, %x", name, sum[:6])
		}
		if keep := header.Get("Cache-Control"); !strings.Contains(keep, "immutable") {
			t.Errorf("%s: Cache-Control: %s", name, keep)
		}
	}
}

// S32: no text can become HTML or a script, and no other site can frame the page or learn where it was.
func TestHeadersOfThePage(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"Content-Security-Policy": {
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
			"require-trusted-types-for 'script'", "trusted-types 'none'",
		},
		"X-Frame-Options": {"DENY"}, "X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}, "Cross-Origin-Opener-Policy": {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"}, "Cache-Control": {"no-cache"}, "Content-Type": {"text/html; charset=utf-8"},
	} {
		header, _, _ := ask(t, "/", false)
		got := strings.Split(header.Get(name), "; ")
		if name == "Content-Type" {
			got = []string{header.Get(name)}
		}
		for _, one := range want {
			if !strings.Contains("; "+strings.Join(got, "; ")+";", "; "+one+";") {
				t.Errorf("%s: %q lacks %q", name, got, one)
			}
		}
		if strings.Contains(header.Get(name), "unsafe") || header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	_, page, _ := ask(t, "/", false)
	if bytes.Contains(page, []byte("<base")) || bytes.Contains(page, []byte("style=")) {
		t.Errorf("the page has a base or a style of its own:\n%s", page)
	}
}

// The README's first screen shows the page: the picture is one of TestThePageOfTheDemo, and small.
func TestTheReadmeShowsThePage(t *testing.T) {
	t.Parallel()
	const root = "../../../../"
	readme, err := os.ReadFile(root + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(readme), "\n## ")
	if strings.Count(first, "](docs/dashboard.png)") != 1 {
		t.Error("the README's first screen has no picture of the page, or several")
	}
	picture, err := os.ReadFile(root + "docs/dashboard.png")
	if err != nil {
		t.Fatal(err)
	}
	if is, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || len(picture) > 150_000 || is.Width < 800 {
		t.Errorf("the picture has %d bytes and is %d wide, %v; want a PNG of at most 150,000", len(picture), is.Width, err)
	}
}
