package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var built embed.FS

// policy lets the page load what comes with it and ask the node that served it, and lets no text become HTML or a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// file is one that browsers load.
type file struct {
	kind        string // Content-Type
	keep        string // Cache-Control
	raw, zipped []byte
}

// Pages returns what a node serves to browsers, by path. It needs no token and holds no data.
func Pages() (map[string]http.Handler, error) {
	pages := map[string]http.Handler{}
	err := fs.WalkDir(built, "dist", func(name string, at fs.DirEntry, err error) error {
		if err != nil || at.IsDir() {
			return err
		}
		raw, err := built.ReadFile(name)
		if err != nil {
			return err
		}
		served := strings.TrimPrefix(name, "dist")
		// The name of an asset has a hash of what is in it, so that it never changes.
		f := &file{kind: types[path.Ext(name)], keep: "public, max-age=31536000, immutable", raw: raw}
		if served == "/index.html" {
			served, f.keep = "/", "no-cache"
		}
		if f.kind == "" {
			return fmt.Errorf("ui: %s is of no kind that a page has", name)
		}
		if f.zipped, err = zip(raw); err != nil {
			return err
		}
		pages[served] = f
		return nil
	})
	return pages, err
}

func zip(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(raw); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// ServeHTTP answers GET and HEAD.
func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", f.keep)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	body := f.raw
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(f.zipped) < len(f.raw) {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails if the browser has gone
	}
}
