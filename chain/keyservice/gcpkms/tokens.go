package gcpkms

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/sync/singleflight"

	"github.com/conchhq/conch/chain/keyservice"
)

// tokens keeps the token. The library's own cache would have callers wait for one another's fetches in turn, each for as long as one
// takes, and knows no context.
type tokens struct {
	client *http.Client
	flight singleflight.Group

	mu     sync.Mutex
	source oauth2.TokenSource // nil until credentials are found
	found  bool               // source is the library's, which keeps its token too
	last   *oauth2.Token
}

// get returns a token that is valid. All that wait for one wait for the same fetch.
func (t *tokens) get(ctx context.Context, shown string) (string, error) {
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	if last.Valid() {
		return last.AccessToken, nil
	}
	select {
	case <-ctx.Done():
		return "", keyservice.Of(shown, ctx.Err())
	case got := <-t.flight.DoChan("", t.fetch):
		if got.Err != nil {
			return "", faultOf(shown, got.Err)
		}
		token, _ := got.Val.(string) // as fetch returns it
		return token, nil
	}
}

// fetch asks for a token, for as long as the client waits: callers come and go.
func (t *tokens) fetch() (any, error) {
	t.mu.Lock()
	source := t.source
	t.mu.Unlock()
	finds := source == nil
	if finds {
		found, err := google.FindDefaultCredentials(context.WithValue(context.Background(), oauth2.HTTPClient, t.client), scope)
		if err != nil {
			return "", errNone
		}
		source = found.TokenSource
	}
	token, err := source.Token()
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source, t.found, t.last = source, t.found || finds, token
	return token.AccessToken, nil
}

// forget drops a token that the service did not take.
func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last = nil; t.found {
		t.source, t.found = nil, false
	}
}

var errNone = errors.New("no application default credentials are found, or they cannot be read")

// faultOf quotes nothing of err: it may have the body of an answer. What is no answer is silence, since the library does not say.
func faultOf(shown string, err error) error {
	f := keyservice.Of(shown, err)
	said, is := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case errors.Is(err, errNone):
		f.Kind, f.Detail = keyservice.Denied, err.Error()
	case is && said.Response != nil:
		f.Detail = "no token is given for its credentials: " + keyservice.Code(said.ErrorCode)
		if f.Kind = keyservice.OfStatus(said.Response.StatusCode); !f.Passes() {
			f.Kind = keyservice.Denied
		}
	}
	return f
}
