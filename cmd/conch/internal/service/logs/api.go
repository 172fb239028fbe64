package logs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
)

const (
	pathLogs    = "/v1/logs"
	pathLog     = pathLogs + "/{namespace}"
	pathGoals   = pathLog + "/goals"
	pathEntries = pathLog + "/entries"
	pathState   = pathLog + "/state"
	pathMembers = pathLog + "/members"
	pathGenesis = pathLog + "/genesis"
)

// shelf has the logs of this node.
type shelf interface{ Parts() []*part }

// api serves logs over HTTP.
type api struct {
	shelf  shelf
	denied *denials
	log    *slog.Logger
}

func (a *api) routes() []web.Route {
	get := func(path string, h web.Handler) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Serve: h}
	}
	post := func(path string, h web.Handler) web.Route {
		return web.Route{Method: http.MethodPost, Path: path, Needs: web.ToOperate, Serve: h}
	}
	goals := post(pathGoals, a.postGoal)
	goals.Body = 2 * txlog.MostGoal // a goal and what is around it
	goals.Query, goals.Keyed = []string{"wait"}, true
	entries, state := get(pathEntries, a.getEntries), get(pathState, a.getState)
	long := web.Route{Method: http.MethodPost, Path: pathState, Body: goals.Body, Serve: a.postState} // it reads, so each token will do
	entries.Query, state.Query = []string{"from", "limit", "wait_ms"}, []string{"query", "fresh"}
	all := []web.Route{
		get(pathLogs, a.getLogs), post(pathLogs, a.postLog), get(pathLog, a.getLog), goals, entries, state, long,
		post(pathMembers, a.postMembers), get(pathGenesis, a.getGenesis),
	}
	for i := range all {
		all[i].Serve = a.denied.counts(a.points(all[i].Serve))
	}
	return all
}

// part returns the log that a request is about.
func (a *api) part(namespace string) (*part, error) {
	r, err := find(a.shelf.Parts(), namespace)
	if err != nil {
		return nil, web.Failf(http.StatusNotFound, "%v", err).Named("unknown-log", "Unknown log")
	}
	return r, nil
}

// notMade is what there is to say while nobody has said how the log began, and somebody could.
const notMade = "this node has heard of no log of that name yet: ask again in a few seconds. If nobody has made it, conch log create makes one"

// begun returns the log that a request is about, once somebody has made it.
func (a *api) begun(namespace string) (*part, error) {
	r, err := a.part(namespace)
	if err != nil {
		return nil, err
	}
	if _, known := r.began(); !known {
		now := r.status(time.Now())
		if now.State == stateOpening {
			return nil, refusal(errNotHere)
		}
		return nil, web.Failf(http.StatusServiceUnavailable, "%s", cmp.Or(now.Why, now.Advice, notMade)).Named("no-log-yet", "No log yet").RetryAfter(1)
	}
	return r, nil
}

// selects returns the log that the caller of an event stream names.
func (a *api) selects(named string) (namespace string, err error) {
	r, err := a.part(named)
	if err != nil {
		return "", err
	}
	return r.Namespace, nil
}

// List is all logs of a node.
type List struct {
	Logs []Status `json:"logs"`
}

func (a *api) getLogs(w http.ResponseWriter, _ *http.Request) error {
	list := List{Logs: []Status{}}
	for _, r := range a.shelf.Parts() {
		list.Logs = append(list.Logs, r.status(time.Now()))
	}
	return web.Answer(w, http.StatusOK, list)
}

func (a *api) getLog(w http.ResponseWriter, req *http.Request) error {
	r, err := a.part(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, r.status(time.Now()))
}

func (a *api) getGenesis(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	g, _ := r.began()
	return web.Answer(w, http.StatusOK, genesisOf(g))
}

// creation is a log that is to be made.
type creation struct {
	Namespace string   `json:"namespace"`
	Members   []string `json:"members"`
	Machine   string   `json:"machine,omitempty"`
	LeaseMS   uint64   `json:"lease_ms,omitempty"`
}

// Created is a log that was made.
type Created struct {
	Genesis

	Warning string `json:"warning,omitempty"`
}

func (a *api) postLog(w http.ResponseWriter, req *http.Request) error {
	var c creation
	if err := web.ReadJSON(req, &c); err != nil {
		return err
	}
	if _, is := machineOf(c.Machine); c.Machine != "" && !is {
		return (&web.FieldError{Field: "machine", Text: "is no state machine of this version: write " + machineNames()}).Problem(http.StatusUnprocessableEntity)
	}
	if c.LeaseMS != 0 && (c.LeaseMS < txlog.LeastLease || c.LeaseMS > txlog.MostLease) {
		text := fmt.Sprintf("%d ms is not from %d to %d", c.LeaseMS, txlog.LeastLease, txlog.MostLease)
		return (&web.FieldError{Field: "lease_ms", Text: text}).Problem(http.StatusUnprocessableEntity)
	}
	r, err := a.part(c.Namespace)
	if err != nil {
		return err
	}
	if m, _ := machineOf(c.Machine); c.Machine != "" && m.name != r.machine().name {
		text := fmt.Sprintf("is %s, and this node's configuration says %s for the log: machine of its [[logs]] table, on each node", m.name, r.machine().name)
		return (&web.FieldError{Field: "machine", Text: text}).Problem(http.StatusUnprocessableEntity)
	}
	g, err := r.create(req.Context(), order{Members: c.Members, LeaseMS: c.LeaseMS})
	if err != nil {
		return refusal(err)
	}
	a.log.InfoContext(req.Context(), "a log was asked for", slog.String("log", c.Namespace), slog.String("id", g.ID().String()),
		slog.String("members", strings.Join(c.Members, ", ")), slog.String("actor", web.Actor(req.Context())))
	return web.Answer(w, http.StatusCreated, Created{genesisOf(g), even(len(g.Members))})
}

// even warns of a number of members that has no use.
func even(n int) string {
	if n%2 == 1 {
		return ""
	}
	return "an even number of members is no safer than one less, and more of them have to be there: take one away, or add one"
}

// mayLose is how many disks of so many members may be lost. The leader refuses a change while one of them waits to be admitted.
func mayLose(n int) int { return (n - 1) / 2 }

// names are the nodes that are to decide.
type names struct {
	Members []string `json:"members"`
	Since   *uint64  `json:"since,omitempty"` // an entry as of which the caller has seen the members; nil: those of now count
}

// Changed is an entry that has changed the members.
type Changed struct {
	Index   uint64 `json:"index"`
	MayLose int    `json:"may_lose"` // of the members' disks, before nothing is decided any more
	Warning string `json:"warning,omitempty"`
}

func (a *api) postMembers(w http.ResponseWriter, req *http.Request) error {
	r, err := a.begun(req.PathValue("namespace"))
	if err != nil {
		return err
	}
	var n names
	if err := web.ReadJSON(req, &n); err != nil {
		return err
	}
	if err := set(n.Members); err != nil {
		return refusal(err)
	}
	ctx, cancel := context.WithTimeout(req.Context(), goalPatience)
	defer cancel()
	if n.Since == nil { // what is sent to the leader may come late: it must not undo what comes after this request
		_, now, err := r.fresh(ctx, nil)
		if err != nil {
			return unseen(err)
		}
		n.Since = &now.Index
	} else if err := r.lacks(ctx, *n.Since); err != nil {
		return err
	}
	since := *n.Since
	index, err := r.change(ctx, n.Members, since)
	switch {
	case err == nil:
	case nobodyKnows(err):
		return unknownChange(err, since)
	default:
		return refusal(err)
	}
	a.log.InfoContext(req.Context(), "the members of a log were changed", slog.String("log", r.Namespace),
		slog.String("members", strings.Join(n.Members, ", ")), slog.String("actor", web.Actor(req.Context())))
	return web.Answer(w, http.StatusOK, Changed{index, mayLose(len(n.Members)), even(len(n.Members))})
}
