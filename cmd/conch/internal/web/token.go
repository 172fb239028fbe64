package web

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/conchhq/conch/internal/secretfile"
)

// minSecret is the least length of a token. 16 random bytes, encoded, are longer.
const minSecret = 20

// Tokens has the tokens that may read and those that may operate, which includes reading. They
// come from files, which [Tokens.Reload] reads again at any time. A nil Tokens has none.
//
// Each line of a file has a token, alone or after a name and a space; empty lines and lines
// that begin with # are skipped. The history shows the name as the actor, or else "operate" or
// "read". Two lines let an old token and its successor overlap.
type Tokens struct {
	readFile, operateFile string
	set                   atomic.Pointer[[]token]
}

type token struct {
	name string
	may  Access
	sum  [sha256.Size]byte // comparing sums takes the same time whatever was sent
}

// LoadTokens reads the files. An empty name means no tokens of that kind.
func LoadTokens(readFile, operateFile string) (*Tokens, error) {
	t := &Tokens{readFile: readFile, operateFile: operateFile}
	if err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the files again. After an error the old tokens stay in force: a half-written
// file must neither lock callers out nor let others in.
func (t *Tokens) Reload() error {
	use, err := t.Read()
	if err == nil {
		use()
	}
	return err
}

// Read reads the files again. The new tokens take effect when use is called, so that the
// caller can check other files first.
func (t *Tokens) Read() (use func(), err error) {
	read, err := readTokens(t.readFile, "read", ToRead)
	if err != nil {
		return nil, err
	}
	operate, err := readTokens(t.operateFile, "operate", ToOperate)
	if err != nil {
		return nil, err
	}
	for _, r := range read {
		for _, o := range operate {
			if r.sum == o.sum {
				return nil, fmt.Errorf("one token is in both %s and %s: a caller that may only read could operate", t.readFile, t.operateFile)
			}
		}
	}
	return func() { t.set.Store(new(append(read, operate...))) }, nil
}

// FirstToken returns a file's token for requests to nodes with the same file; empty for no file.
func FirstToken(file string) (string, error) {
	lines, err := tokenLines(file)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return lines[0].secret, nil
}

func readTokens(file, role string, may Access) ([]token, error) {
	lines, err := tokenLines(file)
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return nil, fmt.Errorf("the %s tokens cannot be read: %w", role, err)
	}
	if err != nil {
		return nil, err
	}
	var found []token
	for _, l := range lines {
		found = append(found, token{name: cmp.Or(l.name, role), may: may, sum: sha256.Sum256([]byte(l.secret))})
	}
	return found, nil
}

type tokenLine struct{ name, secret string }

// tokenLines reads a file of tokens. An empty name means none.
func tokenLines(file string) ([]tokenLine, error) {
	if file == "" {
		return nil, nil
	}
	text, err := secretfile.Read(file)
	if err != nil {
		return nil, err
	}
	var found []tokenLine
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := tokenLine{secret: words[len(words)-1]}
		if len(words) == 2 {
			l.name = words[0]
		}
		// The error never repeats the line: it may be the secret.
		if len(words) > 2 || len(l.name) > 64 {
			return nil, fmt.Errorf("%s:%d is neither a token nor a name of up to 64 bytes and a token", file, n)
		}
		if len(l.secret) < minSecret {
			return nil, fmt.Errorf("%s:%d has a token of %d characters, at least %d are needed: openssl rand -hex 32 makes a good one", file, n, len(l.secret), minSecret)
		}
		found = append(found, l)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(found) == 0 {
		return nil, errors.New(file + " holds no token")
	}
	return found, nil
}

// Any reports whether there is a token at all.
func (t *Tokens) Any() bool {
	if t == nil {
		return false
	}
	set := t.set.Load()
	return set != nil && len(*set) > 0
}

// find compares with every token, so that its duration reveals nothing.
func (t *Tokens) find(secret string) (name string, may Access, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, known := range *t.set.Load() {
		if subtle.ConstantTimeCompare(known.sum[:], sum[:]) == 1 {
			name, may, ok = known.name, known.may, true
		}
	}
	return name, may, ok
}

// caller is who sends a request: a token's name, which is the actor, or anybody if none is needed.
type caller struct {
	name  string
	token bool
	may   Access
}

var anybody = caller{name: "local", may: ToOperate}

func (s *Site) admit(r *http.Request, needs Access) (caller, error) {
	if needs == freely || !s.cfg.Tokens.Any() {
		return anybody, nil
	}
	secret, sent := secretOf(r.Header)
	if !sent {
		return caller{}, Failf(http.StatusUnauthorized, "a token is needed: Authorization: Bearer …, or "+tokenHeader+": …").with("WWW-Authenticate", `Bearer realm="conch"`)
	}
	name, may, ok := s.cfg.Tokens.find(strings.TrimSpace(secret))
	if !ok {
		return caller{}, Failf(http.StatusUnauthorized, "the token is not known").with("WWW-Authenticate", `Bearer realm="conch", error="invalid_token"`)
	}
	if may < needs {
		return caller{}, Failf(http.StatusForbidden, "the token %q may read, not operate", name).with("WWW-Authenticate", `Bearer realm="conch", error="insufficient_scope"`)
	}
	return caller{name, true, may}, nil
}

// tokenHeader has a token besides Authorization, which a proxy in front may want for itself. It counts if both are there.
const tokenHeader = "Conch-Token"

// secretOf returns the token that a request brings.
func secretOf(h http.Header) (secret string, sent bool) {
	if secret := h.Get(tokenHeader); secret != "" {
		return secret, true
	}
	scheme, secret, _ := strings.Cut(h.Get("Authorization"), " ")
	return secret, strings.EqualFold(scheme, "Bearer")
}

type callerKey struct{}

func withCaller(ctx context.Context, c caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Actor returns the name of the token that came with a request.
func Actor(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.name
}

// Token is like Actor, but empty if no tokens are configured, so that none was needed.
func Token(ctx context.Context) string {
	if c, _ := ctx.Value(callerKey{}).(caller); c.token {
		return c.name
	}
	return ""
}
