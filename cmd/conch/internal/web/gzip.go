package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// leastZipped is how many bytes an answer has that is worth compressing.
const leastZipped = 1 << 10

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a right one
	return z
}}

func zipped(body []byte) []byte {
	var out bytes.Buffer
	z := zippers.Get().(*gzip.Writer) //nolint:forcetypeassert,errcheck // New makes no others
	defer zippers.Put(z)
	z.Reset(&out)
	_, _ = z.Write(body) // a buffer takes all
	_ = z.Close()
	return out.Bytes()
}

// zipping compresses what is written to it, if it is no fault.
type zipping struct {
	http.ResponseWriter

	zip    *gzip.Writer // nil: not yet, or it stays as it is
	status int
}

// zipWith lets a handler answer a caller that takes an answer compressed. It must not compress itself.
func zipWith(next http.Handler, w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	caller, is := w.(*recorder)
	if !is || !caller.zips {
		next.ServeHTTP(w, r)
		return
	}
	out := &zipping{ResponseWriter: w}
	next.ServeHTTP(out, r)
	out.end()
}

func (out *zipping) WriteHeader(status int) {
	if out.status = status; status == http.StatusOK {
		out.Header().Set("Content-Encoding", "gzip")
		out.zip = zippers.Get().(*gzip.Writer) //nolint:forcetypeassert,errcheck // New makes no others
		out.zip.Reset(out.ResponseWriter)
	}
	out.ResponseWriter.WriteHeader(status)
}

func (out *zipping) Write(b []byte) (int, error) {
	if out.status == 0 {
		out.WriteHeader(http.StatusOK)
	}
	if out.zip != nil {
		return out.zip.Write(b)
	}
	return out.ResponseWriter.Write(b)
}

// end writes what is left. A handler that panicked has no end.
func (out *zipping) end() {
	if out.zip != nil {
		_ = out.zip.Close() // fails if the caller has gone
		zippers.Put(out.zip)
	}
}

// takesGzip reads Accept-Encoding.
func takesGzip(h http.Header) bool {
	for _, list := range h.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(list, ",") {
			name, rest, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			_, quality, weighted := strings.Cut(rest, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(quality), 64)
			return !weighted || err == nil && q > 0
		}
	}
	return false
}
