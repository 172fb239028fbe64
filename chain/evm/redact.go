package evm

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/conchhq/conch/internal/pattern"
)

const (
	readText  = 4 << 10 // how much of a text is looked at
	shownText = 200     // how many letters of it are shown
)

type redaction struct {
	find *regexp.Regexp
	with string
}

// redactions replace what may be secret, and what differs from one error to the next. Their order
// counts: a number in a URL is a part of the URL.
var redactions = sync.OnceValue(func() []redaction {
	return []redaction{
		{regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]}]+`), "<url>"},
		{regexp.MustCompile(`(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?[/?][^\s"'<>)\]}]*`), "<url>"},
		{regexp.MustCompile(`[^\s"'<>@]+@[^\s"'<>@]+`), "<user>"},
		{regexp.MustCompile(`(?i)\b0x[0-9a-f]{64}\b`), "<hash>"},
		{regexp.MustCompile(`(?i)\b0x[0-9a-f]{40}\b`), "<address>"},
		{regexp.MustCompile(`(?i)\b0x[0-9a-f]+`), "<hex>"},
		// A word after one that announces a secret.
		{regexp.MustCompile(`(?i)\b(key|token|secret|password|jwt|authorization|(?:project|app)[-_ ]?id)(["']?\s*[:=]\s*["']?|\s*["'])[^\s"',;)\]}<]+`), "$1$2<key>"},
		{regexp.MustCompile(`(?i)\b(key|token|(?:project|app)[-_ ]?id|bearer|basic)(\s+)[^\s"',;)\]}<]*\d[^\s"',;)\]}<]*`), "$1$2<key>"},
	}
})

var (
	longWord = pattern.Of(`[A-Za-z0-9_+/=-]{16,}`)
	number   = pattern.Of(`(^|[^\w^.<-])\d+(?:[.,]\d+)*`)
)

// redact returns a text without the secrets, and without what may be one.
func redact(text string, secrets []string) string {
	if len(text) > readText { // up to the last whole word, since half a key is not recognised
		text = text[:readText]
		text = text[:strings.LastIndexFunc(text, unicode.IsSpace)+1]
	}
	words := strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	text = strings.Join(words, " ")
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "<key>")
	}
	for _, r := range redactions() {
		text = r.find.ReplaceAllString(text, r.with)
	}
	text = longWord().ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "<key>"
		}
		return word
	})
	text = number().ReplaceAllString(text, "$1<n>")
	if letters := []rune(text); len(letters) > shownText {
		text = string(letters[:shownText]) + "…"
	}
	return text
}

// shortestSecret is the length of the shortest part of a URL or header that is taken for a secret.
const shortestSecret = 6

// secrets returns what no text may show: the parts of the URL but for its host, and the headers'
// values. A part comes after the whole.
func (e *endpoint) secrets() (all []string) {
	raw := e.url()
	parts := []string{raw}
	if u, err := url.Parse(raw); err == nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password, u.RawQuery, u.Fragment)
		parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
		parts = append(parts, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
	}
	for _, values := range e.header() {
		for _, value := range values {
			parts = append(append(parts, value), strings.Fields(value)...)
		}
	}
	for _, part := range parts {
		if len(part) >= shortestSecret && !slices.Contains(all, part) {
			all = append(all, part)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}
