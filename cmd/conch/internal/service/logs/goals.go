package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
)

// Asked is a goal as users submit it.
type Asked struct {
	GoalID string          `json:"goal_id"`
	Goal   json.RawMessage `json:"goal,omitempty"`
	Since  *uint64         `json:"since,omitempty"` // an index that was there before the id was made; nil: the one of the node's copy
}

// Taken is the answer to a goal for which its user does not wait.
type Taken struct {
	GoalID string `json:"goal_id"`
	Since  uint64 `json:"since"` // to be sent again with it
}

// Outcome is what became of a goal.
type Outcome struct {
	GoalID string `json:"goal_id"`
	Index  uint64 `json:"index"`
	Hash   string `json:"hash,omitempty"` // of its entry
	Result Bytes  `json:"result,omitempty"`
	Fault  string `json:"fault,omitempty"` // why it has failed; nothing has changed then
}

// goalPatience is how long a request waits for a goal. The goal is of use for longer: a user that asks again finds it.
const goalPatience = 17 * time.Second

// laterPatience is for how long a goal is tried for which nobody waits.
const laterPatience = time.Minute

func (a *api) postGoal(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	wait, err := choice(req.URL.Query(), "wait", "1")
	if err != nil {
		return err
	}
	var g Asked
	if err := web.ReadJSON(req, &g); err != nil {
		return err
	}
	if err := web.Key(req, "goal_id", &g.GoalID); err != nil {
		return err
	}
	h := r.running()
	if h == nil {
		return refusal(errNotHere)
	}
	if g.GoalID == "" {
		g.GoalID = cli.NewKey("")
	}
	t := tryOf(g, h.Status())
	if err := g.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(req.Context(), goalPatience)
	defer cancel()
	if g.Since != nil {
		if err := r.lacks(ctx, *g.Since); err != nil {
			return err
		}
	}
	execute := func(ctx context.Context) (answer txlog.Answer, err error) {
		err = r.insist(ctx, func(h *quorum.Host) (err error) {
			answer, err = h.Goal(ctx, g.GoalID, g.Goal, t.since)
			if t.renew(err) {
				answer, err = h.Goal(ctx, g.GoalID, g.Goal, t.since)
			}
			if t.ours && errors.Is(err, txlog.ErrOld) {
				return fmt.Errorf("%w: it is at %d", errBehind, t.since)
			}
			return err
		})
		a.denied.fails(answer)
		return answer, err
	}
	if wait == "0" {
		return later(w, r, Taken{g.GoalID, t.since}, execute)
	}
	answer, err := execute(ctx)
	switch {
	case err == nil:
	case nobodyKnows(err):
		s := h.Status()
		return unknownGoal(g.GoalID, t.since, max(s.Position.Index, s.Copy.Signed))
	default:
		return refusal(err)
	}
	return web.Answer(w, http.StatusOK, outcomeOf(g.GoalID, answer))
}

// check returns a problem if this is no goal that any log takes.
func (g *Asked) check() error {
	switch err := (txlog.Goal{ID: g.GoalID, Body: g.Goal}).Check(); {
	case errors.Is(err, txlog.ErrMalformed):
		return web.Failf(http.StatusBadRequest, "%v", err).Wrong("goal_id")
	case err != nil:
		return refusal(err)
	case len(g.Goal) == 0:
		return (&web.FieldError{Field: "goal", Text: `is missing: such as {"op":"add","key":"visits"}`}).Problem(http.StatusUnprocessableEntity)
	}
	return nil
}

// lacks returns a problem if the log has no entry of a since: the request would wait for it, and then nobody could say what became of it. The
// majority says where the log ends. If it does not, the request is taken: a leader may have come further than this node knows.
func (r *part) lacks(ctx context.Context, since uint64) error {
	h := r.running()
	if h == nil {
		return nil
	}
	if s := h.Status(); since <= max(s.Position.Index, s.Copy.Signed) {
		return nil
	}
	_, end, err := h.Fresh(ctx, nil)
	if err != nil || since <= end.Index {
		return nil //nolint:nilerr // nobody can say
	}
	text := fmt.Sprintf("is %d, and the newest entry of the log is %d: name an entry that you have seen there, or leave since out if this is asked for the first time. Nothing was done now", since, end.Index)
	return (&web.FieldError{Field: "since", Text: text}).Problem(http.StatusUnprocessableEntity)
}

// errBehind means that this node cannot say of a new goal since when its id is one.
var errBehind = errors.New("this node's copy is so far behind that it cannot tell a new goal from an old one, and has not submitted it: ask again in a moment, or another node; if the id was sent before, with the since of then")

// tried is the index with which a goal is submitted.
type tried struct {
	since uint64
	ours  bool   // the user has said none: it is that of this node's copy
	known uint64 // then the newest entry that a member had signed
}

// tryOf returns the index with which a goal is submitted at a node. Entry 1 comes before every goal, so it stands for 0 too.
func tryOf(g Asked, s quorum.Status) tried {
	if g.Since != nil {
		return tried{since: max(1, *g.Since)}
	}
	return tried{since: max(1, s.Position.Index), ours: true, known: s.Copy.Signed}
}

// renew has a goal asked for again whose id is new, when this node's copy is so far behind that it seems to be old: with the
// newest entry that a member had signed before. The word of one member alone is not taken at once: if it lies, no leader has
// that entry.
func (t *tried) renew(err error) bool {
	if !t.ours || !errors.Is(err, txlog.ErrOld) || t.known <= t.since {
		return false
	}
	t.since = t.known
	return true
}

// nobodyKnows reports whether an error leaves open what has become of what was asked for: an earlier try may have been taken.
func nobodyKnows(err error) bool {
	return errors.Is(err, txlog.ErrUnknown) || errors.Is(err, txlog.ErrNotLeader) || errors.Is(err, errNoLeader) || errors.Is(err, errNotHere) ||
		errors.Is(err, quorum.ErrStopped)
}

// insistEvery is how long to wait before something is asked again that nobody can say yet.
const insistEvery = 100 * time.Millisecond // a round of the members

// insist asks the host until ctx ends, as long as nobody can say: it may have been made anew meanwhile, and what waited for it ends
// then. To ask again with the same id is harmless. A node that ends waits for nobody: its user has to hear with which id to ask another one.
func (r *part) insist(ctx context.Context, ask func(h *quorum.Host) error) error {
	var all tries
	for {
		err := errNotHere
		if h := r.running(); h != nil {
			err = ask(h)
		}
		err = all.judge(err)
		if !nobodyKnows(err) || pause.For(ctx, insistEvery) != nil || r.over.Err() != nil {
			return err
		}
	}
}

// tries is what is known of earlier tries of one request.
type tries struct{ open bool } // one of them may have been taken

// judge returns the error that a try's is for all of them: that this one was not taken says nothing of an earlier one.
func (t *tries) judge(err error) error {
	if t.open && slices.ContainsFunc([]error{txlog.ErrTooMany, txlog.ErrAway, txlog.ErrChanging, errBehind}, func(is error) bool { return errors.Is(err, is) }) {
		return fmt.Errorf("%w: an earlier try may have been taken; of the last one: %v", txlog.ErrUnknown, err) //nolint:errorlint // it is not of all
	}
	if t.open && errors.Is(err, txlog.ErrBarred) { // to ask on is of no use
		return fmt.Errorf("%w. An earlier try may have been taken", err)
	}
	t.open = t.open || nobodyKnows(err) && !errors.Is(err, errNotHere)
	return err
}

// mostLater is for how many goals a node goes on trying for which nobody waits.
const mostLater = 1000

// roomEvery is how long such a goal waits before it asks again for room, as others are told to.
const roomEvery = time.Second

// later has a goal executed after its user has the answer: one that is taken is tried for its time, whatever else there is to do.
func later(w http.ResponseWriter, r *part, taken Taken, execute func(context.Context) (txlog.Answer, error)) error {
	if r.later.Add(1) > mostLater {
		r.later.Add(-1)
		return refusal(txlog.ErrTooMany)
	}
	r.spawn(func() {
		defer r.later.Add(-1)
		ctx, cancel := context.WithTimeout(r.over, laterPatience)
		defer cancel()
		_, err := execute(ctx)
		for errors.Is(err, txlog.ErrTooMany) && pause.For(ctx, roomEvery) == nil {
			_, err = execute(ctx)
		}
		if err != nil {
			r.log.Warn("a goal for which nobody waits has no result", slog.String("goal_id", taken.GoalID), slog.Any("error", err))
		}
	})
	return web.Answer(w, http.StatusAccepted, taken)
}

func outcomeOf(id string, a txlog.Answer) Outcome {
	o := Outcome{GoalID: id, Index: a.Index, Result: a.Result, Fault: a.Fault}
	if !a.Hash.IsZero() {
		o.Hash = a.Hash.String()
	}
	return o
}
