package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

// minSecret is what a token must have at least: 16 random bytes have more.
const minSecret = 20

// Tokens say who may read and who may operate. They come from files, which
// [Tokens.Reload] reads again while requests are served. A nil Tokens has none.
//
// A file holds one token a line, alone or after a name and a space; empty lines and
// lines with # are passed over. The name is what the history shows as the actor;
// without one it is "operate" or "read". Two lines let an old token and its
// successor overlap. Whoever may operate may read.
type Tokens struct {
	readFile, operateFile string
	set                   atomic.Pointer[[]token]
}

type token struct {
	name string
	may  Access
	sum  [sha256.Size]byte // comparing sums takes the same time whatever was sent
}

// LoadTokens reads the files; an empty name means that there are none of its kind.
func LoadTokens(readFile, operateFile string) (*Tokens, error) {
	t := &Tokens{readFile: readFile, operateFile: operateFile}
	if err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the files again. If that fails the tokens stay as they were: a
// half-written file must neither lock everybody out nor let anybody in.
func (t *Tokens) Reload() error {
	use, err := t.Read()
	if err != nil {
		return err
	}
	use()
	return nil
}

// Read reads the files again for whoever has more to look at before anything may
// change: what they say counts once use is called.
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
				return nil, fmt.Errorf("one token is in both %s and %s: whoever may only read could operate", t.readFile, t.operateFile)
			}
		}
	}
	all := append(read, operate...)
	return func() { t.set.Store(&all) }, nil
}

// FirstToken is what this process presents to another that has the same file; empty if
// there is no file.
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

// tokenLines reads a file of tokens; none if there is no file.
func tokenLines(file string) ([]tokenLine, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found []tokenLine
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := tokenLine{secret: words[len(words)-1]}
		if len(words) == 2 {
			l.name = words[0]
		}
		// What stands there is never repeated: it may be the secret.
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

// find looks at every token, so that the time it takes tells nothing.
func (t *Tokens) find(secret string) (name string, may Access, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, known := range *t.set.Load() {
		if subtle.ConstantTimeCompare(known.sum[:], sum[:]) == 1 {
			name, may, ok = known.name, known.may, true
		}
	}
	return name, may, ok
}

// anybody is the actor where there are no tokens.
const anybody = "local"

func (s *Site) admit(r *http.Request, needs Access) (string, error) {
	if needs == freely || !s.cfg.Tokens.Any() {
		return anybody, nil
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", Failf(http.StatusUnauthorized, "a token is needed: Authorization: Bearer …").with("WWW-Authenticate", `Bearer realm="conch"`)
	}
	name, may, ok := s.cfg.Tokens.find(strings.TrimSpace(secret))
	if !ok {
		return "", Failf(http.StatusUnauthorized, "the token is not known").with("WWW-Authenticate", `Bearer realm="conch", error="invalid_token"`)
	}
	if may < needs {
		return "", Failf(http.StatusForbidden, "the token %q may read, not operate", name).with("WWW-Authenticate", `Bearer realm="conch", error="insufficient_scope"`)
	}
	return name, nil
}

type actorKey struct{}

func withActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor is the name of the token with which a request came.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}
