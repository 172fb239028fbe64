package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/pattern"
)

// keyHeader is the header by which a client names what it asks for, so that a repeated request is carried out once.
const keyHeader = "Idempotency-Key"

// unheeded says what to do about a header by which a client asks for a safety that no route gives; nothing of any other one. To
// ignore it would have the client believe what is not so. Headers that ask for none are ignored, such as X-Request-Id, which proxies
// add to every request.
func unheeded(name, value string) string {
	switch lower := strings.ToLower(name); {
	case name != keyHeader && strings.Contains(lower, "idempot"):
		return "send " + keyHeader + " instead"
	case strings.HasPrefix(lower, "if-"):
		return "nothing here has a version to compare: leave it out"
	case lower == "content-md5", lower == "digest", lower == "content-digest", lower == "repr-digest":
		return "the body is not compared with it: leave it out, and use TLS"
	case lower == "content-encoding" && !strings.EqualFold(value, "identity"), lower == "content-range":
		return "a body is taken as it is, and whole: send it so, without this header"
	case strings.Contains(lower, "method-override"):
		return "the method of the request itself counts: leave it out"
	}
	return ""
}

// heeds refuses a request that would change something and has an unheeded header, or an Idempotency-Key that its route has no
// use for. Requests that only read do no harm if they are repeated.
func (rt Route) heeds(r *http.Request) error {
	if rt.Method == "" || rt.Needs != ToOperate {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		what := unheeded(name, r.Header.Get(name))
		if name == keyHeader && !rt.Keyed {
			what = rt.Method + " " + rt.Path + " has no key: leave it out"
		}
		if what != "" {
			return Failf(http.StatusBadRequest, "the header %s has no effect here: %s", name, what).Named("unheeded-header", "Header without effect").About(name)
		}
	}
	return nil
}

// Key completes the key of a request to a route that is Keyed, which is that of the body's field, by that of the header. They have
// to be the same if there are both.
func Key(r *http.Request, field string, key *string) error {
	values, has := r.Header[keyHeader]
	if !has {
		return nil
	}
	said, err := headerKey(strings.Join(values, ",")) // one that is there twice has several values
	if err == nil && *key != "" && *key != said {
		err = badKey("and the field %s of the body are different: send one of them, or the same in both", field)
	}
	*key = said
	return err
}

// headerKey reads the value of the header: a text in quotes as the IETF's draft has it (a string of RFC 8941), or the key as it
// is, as most clients send it. Both name the same key.
func headerKey(value string) (string, error) {
	key, quoted := value, strings.HasPrefix(value, `"`)
	if quoted {
		if !oneString().MatchString(value) {
			return "", badKey(`begins with a quotation mark and is not one text in quotes: write "…", with \ before each " and \ in it, and nothing after it`)
		}
		key = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(value[1 : len(value)-1])
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

var oneString = pattern.Of(`(?s)^"([^"\\]|\\["\\])*"$`)

func badKey(format string, args ...any) *Problem {
	return Failf(http.StatusBadRequest, "the header "+keyHeader+" "+format, args...).Named("bad-key", "Key not understood").About(keyHeader)
}
