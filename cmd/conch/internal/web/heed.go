package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// keyHeader is the header by which a client names what it asks for, so that a repeated request is carried out once.
const keyHeader = "Idempotency-Key"

// unheeded are headers by which a client asks for a safety that no route gives, each with what to do. To ignore one would have the
// client believe what is not so. Others that say nothing of safety, such as X-Request-Id, which proxies add to every request, are ignored.
var unheeded = map[string]string{
	"X-Idempotency-Key":      "send Idempotency-Key instead",
	"X-Idempotency":          "send Idempotency-Key instead",
	"X-Idempotency-Token":    "send Idempotency-Key instead",
	"Idempotency-Token":      "send Idempotency-Key instead",
	"Idempotence-Key":        "send Idempotency-Key instead",
	"If-Match":               "nothing here has a version to compare: leave it out",
	"If-None-Match":          "nothing here has a version to compare: leave it out",
	"If-Unmodified-Since":    "nothing here has a version to compare: leave it out",
	"Content-Digest":         "the body is not compared with it: leave it out, and use TLS",
	"Repr-Digest":            "the body is not compared with it: leave it out, and use TLS",
	"Digest":                 "the body is not compared with it: leave it out, and use TLS",
	"Content-Md5":            "the body is not compared with it: leave it out, and use TLS",
	"Content-Range":          "a body is taken whole: leave it out",
	"X-Http-Method-Override": "the method of the request itself counts: leave it out",
	"X-Http-Method":          "the method of the request itself counts: leave it out",
	"X-Method-Override":      "the method of the request itself counts: leave it out",
}

// heeds refuses a request that would change something and has a header of unheeded, or an Idempotency-Key that its route has no
// use for, or a body in a coding that nobody decodes. Requests that only read do no harm if they are repeated.
func (rt Route) heeds(r *http.Request) error {
	if rt.Method == "" || rt.Needs != ToOperate {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if what := unheeded[name]; what != "" {
			return Failf(http.StatusBadRequest, "the header %s has no effect here: %s", name, what).Named("unheeded-header", "Header without effect").About(name)
		}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return Failf(http.StatusUnsupportedMediaType, "a body in the coding %.40q is not read: send it as it is, without Content-Encoding", coding).
			Named("encoded", "Encoded").About("Content-Encoding").with("Accept-Encoding", "identity")
	}
	if _, has := r.Header[keyHeader]; has && !rt.Keyed {
		return Failf(http.StatusBadRequest, "the header %s has no effect here, since %s %s has no key: leave it out", keyHeader, rt.Method, rt.Path).
			Named("unheeded-header", "Header without effect").About(keyHeader)
	}
	return nil
}

// Key returns the key of a request to a route that is Keyed: that of the body's field or that of the header, which has to
// be the same if there are both.
func Key(r *http.Request, field, inBody string) (string, error) {
	values, has := r.Header[keyHeader]
	if !has {
		return inBody, nil
	}
	if len(values) > 1 {
		return "", badKey("is there %d times: send one", len(values))
	}
	key, err := headerKey(values[0])
	if err != nil {
		return "", err
	}
	if inBody != "" && inBody != key {
		return "", badKey("and the field %s of the body are different: send one of them, or the same in both", field)
	}
	return key, nil
}

// headerKey reads the value of the header: a text in quotes as the IETF's draft has it (a string of RFC 8941), or the key as it
// is, as most clients send it. Both name the same key.
func headerKey(value string) (string, error) {
	key, quoted := value, strings.HasPrefix(value, `"`)
	if quoted {
		var closed bool
		if key, closed = unquote(value[1:]); !closed {
			return "", badKey(`begins with a quotation mark and is not one text in quotes: write "…", with \ before each " and \ in it, and nothing after it`)
		}
	}
	switch {
	case key == "":
		return "", badKey("is empty: name what you ask for, or leave the header out")
	case len(key) > maxKey:
		return "", badKey("has %d characters, and a key has at most %d", len(key), maxKey)
	case !quoted && strings.ContainsAny(key, `,"`):
		return "", badKey("has several values, or a comma or quotation mark that needs quotes around the whole: send one key")
	case strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }):
		return "", badKey("has a character outside of visible ASCII: choose another key, or write it into the body")
	}
	return key, nil
}

// unquote reads a text up to the quotation mark with which it has to end.
func unquote(rest string) (text string, closed bool) {
	var out strings.Builder
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '"':
			return out.String(), i == len(rest)-1
		case rest[i] == '\\':
			if i++; i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return "", false
			}
		}
		_ = out.WriteByte(rest[i])
	}
	return "", false
}

func badKey(format string, args ...any) *Problem {
	return Failf(http.StatusBadRequest, "the header "+keyHeader+" "+format, args...).Named("bad-key", "Key not understood").About(keyHeader)
}
