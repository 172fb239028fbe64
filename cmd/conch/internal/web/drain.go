package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
)

// maxDrain is the longest time that acts may be given to end.
const maxDrain = 10 * time.Minute

// order is the body of a drain. All of it is optional.
type order struct {
	TimeoutMS int64  `json:"timeout_ms"`
	To        string `json:"to"`
}

type drained struct {
	Scope string `json:"scope"`
	Actor string `json:"actor"`
	To    string `json:"to,omitempty"`
}

// postDrain gives a scope up and answers once another process may take over. It
// does so on the leader only: a process that does not lead says who does.
func (s *Site) postDrain(w http.ResponseWriter, r *http.Request) error {
	scope := r.PathValue("scope")
	if s.cfg.Electors.Gate(scope) == nil {
		return unknownScope(scope)
	}
	var o order
	if err := readJSON(r, &o); err != nil {
		return err
	}
	if o.TimeoutMS < 0 || o.TimeoutMS > maxDrain.Milliseconds() {
		return failf(http.StatusBadRequest, "timeout_ms = %d is not between 0, which means the configured time, and %d", o.TimeoutMS, maxDrain.Milliseconds())
	}
	if o.To != "" {
		if err := s.checkSuccessor(r.Context(), scope, o.To); err != nil {
			return err
		}
	}
	who := actor(r.Context())
	s.cfg.Logger.InfoContext(r.Context(), "drain asked for over HTTP",
		slog.String("scope", scope), slog.String("actor", who), slog.String("to", o.To))

	// Acts take the time they were allowed, which is longer than other answers do.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetWriteDeadline(time.Time{}) // a recorder of a test has none to move
	err := s.cfg.Electors.StepDown(r.Context(), election.StepDown{
		Scope: scope, Why: fmt.Errorf("%w: asked by %s over HTTP", election.ErrStepDown, who),
		Actor: who, To: o.To, Timeout: time.Duration(o.TimeoutMS) * time.Millisecond,
	})
	_ = deadlines.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil {
		return s.notDrained(scope, err)
	}
	return answer(w, http.StatusOK, drained{Scope: scope, Actor: who, To: o.To})
}

// checkSuccessor keeps a scope from being handed to nobody: its leader would give
// it up and others would hold back for who is not there.
func (s *Site) checkSuccessor(ctx context.Context, scope, to string) error {
	if err := election.ValidID(to); err != nil {
		return failf(http.StatusBadRequest, "to: %v", err)
	}
	if to == s.cfg.ID {
		return failf(http.StatusUnprocessableEntity, "%s is this process itself", to).named("not-a-candidate", "Not a candidate")
	}
	read, err := s.reader.leaderships(ctx, scope)
	if err != nil {
		return err
	}
	if len(read.leaderships) == 1 && slices.Contains(read.leaderships[0].Candidates, to) {
		return nil
	}
	return failf(http.StatusUnprocessableEntity, "%s is no candidate of %q now: GET /v1/scopes/{scope} lists them", to, scope).named("not-a-candidate", "Not a candidate")
}

func (s *Site) notDrained(scope string, err error) error {
	switch {
	case errors.Is(err, election.ErrNotLeading):
		p := failf(http.StatusConflict, "this process does not lead %q: ask its holder, or use conch drain", scope).named("not-leading", "Not leading")
		p.Holder = lookAt(s.cfg.Electors.Gate(scope)).Holder
		return p
	case errors.Is(err, election.ErrDrainTimeout):
		return failf(http.StatusGatewayTimeout, "%q was given up, but acts had not ended in time: the successor waits as after a crash", scope).named("drain-timeout", "Acts had not ended")
	case errors.Is(err, election.ErrUnknownScope):
		return unknownScope(scope)
	default:
		return failf(http.StatusInternalServerError, "the drain of %q goes on, its end is not known", scope)
	}
}

// readJSON reads a body that may be missing into v. It takes nothing that it does
// not know: a misspelt timeout would be the default one.
func readJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return err
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return failf(http.StatusRequestTimeout, "the body did not come in time")
		}
		return failf(http.StatusBadRequest, "the body could not be read")
	}
	if len(body) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return failf(http.StatusUnsupportedMediaType, "the body has to be application/json")
	}
	if err := decode(body, v); err != nil {
		return failf(http.StatusBadRequest, "the body is not what is documented: %v", err)
	}
	return nil
}

func decode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}
