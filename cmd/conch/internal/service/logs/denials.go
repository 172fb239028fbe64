package logs

import (
	"maps"
	"net/http"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// denials are the requests to the API that this node has refused, by why, since it was started. They are safe for concurrent use.
type denials struct {
	mu sync.Mutex
	by map[string]uint64
}

const deniedOther = "malformed"

// deniedBy are the reasons by which they are counted: a status each.
var deniedBy = map[int]string{
	http.StatusForbidden: "not-a-peer", http.StatusNotFound: "unknown-log", http.StatusConflict: "conflict", http.StatusGone: "old",
	http.StatusRequestEntityTooLarge: "size", http.StatusTooManyRequests: "too-many", http.StatusServiceUnavailable: "unavailable", http.StatusBadRequest: deniedOther,
}

func newDenials() *denials {
	d := &denials{by: map[string]uint64{}}
	for _, reason := range deniedBy {
		d.by[reason] = 0
	}
	return d
}

// counts has what a handler refuses counted.
func (d *denials) counts(serve web.Handler) web.Handler {
	return func(w http.ResponseWriter, req *http.Request) error {
		err := serve(w, req)
		if err == nil || req.Context().Err() != nil { // the caller has gone: nobody is told
			return err
		}
		reason, is := deniedBy[web.ProblemOf(err).Status]
		if !is {
			reason = deniedOther
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.by[reason]++
		return err
	}
}

func (d *denials) now() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.by)
}
