package receiver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/secretfile"
)

// vault reads the secrets of a receiver, and keeps them to find them again in what must not show them.
type vault struct {
	getenv func(string) string
	fault  func(key string, err error)
	hidden hider
}

// source is where a secret is: a file, or a variable of the environment, with the key that names it.
type source struct{ key, file, variableKey, variable string }

// named is the key that names the secret.
func (s source) named() string {
	if s.file == "" {
		return s.variableKey
	}
	return s.key
}

// read returns a secret; "" if none is named, or if there is a fault, which is reported.
func (v *vault) read(from source) string {
	var text string
	var err error
	switch {
	case from.file != "":
		text, err = secretfile.Line(from.file)
	case from.variable != "":
		if text = v.getenv(from.variable); text == "" {
			err = fmt.Errorf("the variable %s of the environment is empty or not there, and has to be the secret", from.variable)
		}
	default:
		return ""
	}
	if text = strings.TrimSpace(text); err == nil && len(text) < leastToken {
		err = errors.New("is shorter than any secret")
	}
	if err != nil {
		v.fault(from.named(), err)
		return ""
	}
	v.hidden = v.hidden.and(text)
	return text
}

// address returns the URL of a receiver, whose parts are secrets wherever it comes from.
func (v *vault) address(c Config) string {
	text := c.URL
	if from := (source{"url_file", c.URLFile, "url_env", c.URLEnv}); text == "" {
		if text = v.read(from); text == "" {
			return ""
		}
		if err := checkURL(text, true); err != nil {
			v.fault(from.named(), err)
			return ""
		}
	}
	v.hidden = v.hidden.and(partsOf(text)...)
	return text
}

// leastPart is how many bytes a part of an address has that is looked for: shorter ones are words.
const leastPart = 8

// partsOf returns an address, and what of it opens the door alone.
func partsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return []string{address}
	}
	all := []string{address, u.String(), u.RequestURI(), u.Path, u.Scheme + "://" + u.Host}
	for p := range strings.SplitSeq(u.EscapedPath(), "/") {
		plain, _ := url.PathUnescape(p)
		all = append(all, p, plain)
	}
	for key, values := range u.Query() {
		all = append(append(all, key), values...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < leastPart })
	if u.User != nil {
		password, _ := u.User.Password()
		all = append(all, u.User.String(), password, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	return all
}

// hider takes secrets out of texts. The longest comes first, so that no part of it is left.
type hider []string

const hiddenWord = "[hidden]"

// and returns a hider that knows more secrets, in the forms in which others write them.
func (h hider) and(secrets ...string) hider {
	for _, s := range secrets {
		quoted, _ := json.Marshal(s) //nolint:errchkjson // a text
		for _, form := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), strings.Trim(string(quoted), `"`),
			strings.ReplaceAll(s, "/", `\/`), base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			if len(form) >= leastToken && !slices.Contains(h, lower(form)) {
				h = append(h, lower(form))
			}
		}
	}
	slices.SortStableFunc(h, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return h
}

// longest returns how many bytes the longest secret has.
func (h hider) longest() int {
	if len(h) == 0 {
		return 0
	}
	return len(h[0])
}

// hide returns the text without secrets, whatever the case of their letters.
func (h hider) hide(text string) string {
	for _, secret := range h {
		for at := 0; ; {
			i := strings.Index(lower(text[at:]), secret)
			if i < 0 {
				break
			}
			text = text[:at+i] + hiddenWord + text[at+i+len(secret):]
			at += i + len(hiddenWord)
		}
	}
	return text
}

// lower changes the letters of ASCII alone, so that all bytes stay where they are.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
