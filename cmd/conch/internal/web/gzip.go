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
