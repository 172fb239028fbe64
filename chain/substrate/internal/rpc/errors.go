package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/coder/websocket"

	"github.com/conchhq/conch/chain"
)

// Codes of JSON-RPC errors.
const (
	CodeLimit     = -32005 // a limit is exceeded
	CodeRateLimit = 429    // the status of HTTP, which gateways also use as a code
	CodeMethod    = -32601 // no such method
	CodeParams    = -32602 // the parameters are not valid
	CodeUnread    = -1     // our own, of an answer that cannot be read: what was asked may have been done
)

// Error is an endpoint's answer that is no result. It wraps chain.ErrAnswer.
type Error struct {
	Method  string
	By      string // the endpoint, without secrets
	Code    int
	Message string          // without secrets, in one line of at most 200 letters
	Data    json.RawMessage // as it came: for programs alone
	Detail  string          // Data as Message
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%v: %s at %s: %s", chain.ErrAnswer, e.Method, e.By, e.Message)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns chain.ErrAnswer.
func (e *Error) Unwrap() error { return chain.ErrAnswer }

// Answered returns the endpoint's answer in an error, if it is one.
func Answered(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// fail makes an error without secrets, which wraps chain.ErrUnreachable, or has an endpoint's answer.
func (c *Client) fail(method string, err error) error {
	if said, is := Answered(err); is {
		return said
	}
	if errors.Is(err, chain.ErrForeign) || errors.Is(err, chain.ErrUnsupported) || errors.Is(err, chain.ErrUnreachable) {
		return err // of Greet, or said already
	}
	if at, is := errors.AsType[*url.Error](err); is {
		err = at.Err // the text of at has the URL
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return &Error{Method: method, By: c.shown, Message: fmt.Sprintf("an answer is larger than %d bytes", c.cfg.MaxAnswer), Code: CodeUnread}
	}
	if text := c.redact(err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	return fmt.Errorf("%w: %s at %s: %w", chain.ErrUnreachable, method, c.shown, err)
}

// shownText is how many letters of a node's text are shown, and shortestSecret how many a part of a URL has at least that is taken
// for a secret.
const (
	shownText      = 200
	shortestSecret = 6
)

// redact returns a text in one line, without the secrets of the URL and of the headers, and not long.
func (c *Client) redact(text string) string {
	for _, secret := range c.secrets() {
		text = strings.ReplaceAll(text, secret, "<key>")
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if letters := []rune(text); len(letters) > shownText {
		text = string(letters[:shownText]) + "…"
	}
	return text
}

// secrets returns what no text may show, the longest first.
func (c *Client) secrets() (all []string) {
	parts := []string{c.cfg.URL}
	if u, err := url.Parse(c.cfg.URL); err == nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.Username(), password, u.RawQuery, u.Fragment, u.RequestURI())
		parts = append(append(parts, strings.Split(u.EscapedPath(), "/")...), strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
	}
	for _, values := range c.cfg.Header {
		for _, value := range values {
			parts = append(append(parts, value), strings.Fields(value)...)
		}
	}
	for _, part := range parts {
		if len(part) >= shortestSecret && !slices.Contains(all, part) {
			all = append(all, part)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
