package logs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

// overBudget names the problem of a query that takes too many steps.
const overBudget = "over-budget"

// refusal returns the problem that an error of a log is.
func refusal(err error) error {
	if not, is := errors.AsType[txlog.NotLeaderError](err); is {
		p := web.Failf(http.StatusConflict, "%v: ask the leader", not).Named("not-leading", "Not leading")
		p.Holder = not.Leader
		return p
	}
	switch {
	case errors.Is(err, errExists):
		return web.Failf(http.StatusConflict, "%v", err).Named("log-exists", "The log exists")
	case errors.Is(err, txlog.ErrMembers):
		text := strings.TrimPrefix(err.Error(), txlog.ErrMembers.Error()+": ") // the name of the field says so
		return (&web.FieldError{Field: "members", Text: text}).Problem(http.StatusUnprocessableEntity)
	case errors.Is(err, errNotMade), errors.Is(err, txlog.ErrAway):
		return web.Failf(http.StatusServiceUnavailable, "nothing was done: %v", err).Named("member-away", "A member cannot take part").RetryAfter(1)
	case errors.Is(err, txlog.ErrChanging):
		return web.Failf(http.StatusConflict, "%v", err).Named("members-change", "The members are being changed").RetryAfter(1)
	case errors.Is(err, txlog.ErrChanged):
		return web.Failf(http.StatusConflict, "%v: look who they are with conch log members, and if the change is still right, ask again. If it was sent before, it may be the one that has changed them", err).
			Named("members-changed", "The members have changed")
	case errors.Is(err, txlog.ErrBarred):
		return web.Failf(http.StatusForbidden, "%v. Have this node added to [[peers]] of the members and to peers of the log, or ask one that is there", err).Named("not-a-peer", "Not a peer of the leader")
	case errors.Is(err, quorum.ErrManyReads):
		return web.Failf(http.StatusTooManyRequests, "%v", err).Named("too-many-reads", "Too many reads").RetryAfter(1)
	case errors.Is(err, errBehind), errors.Is(err, quorum.ErrLags):
		return web.Failf(http.StatusServiceUnavailable, "%v", err).Named("node-behind", "This node is behind").RetryAfter(1)
	case errors.Is(err, errNotHere), errors.Is(err, store.ErrClosed):
		return web.Failf(http.StatusServiceUnavailable, "%v: GET %s/{namespace} says why", errNotHere, pathLogs).Named("log-down", "The log does not run here").RetryAfter(1)
	case errors.Is(err, txlog.ErrGoalID):
		return web.Failf(http.StatusConflict, "%v", err).Named("goal-conflict", "Another goal has this id")
	case errors.Is(err, txlog.ErrOld):
		return web.Failf(http.StatusGone, "%v", err).Named("goal-old", "Too old")
	case errors.Is(err, txlog.ErrTooMany):
		return web.Failf(http.StatusTooManyRequests, "%v", err).Named("too-many-goals", "Too many goals").RetryAfter(1)
	case errors.Is(err, txlog.ErrBudget):
		return web.Failf(http.StatusUnprocessableEntity, "%v", err).Named(overBudget, "Too many steps")
	case errors.Is(err, txlog.ErrSize):
		return web.Failf(http.StatusRequestEntityTooLarge, "%v", err).Named("too-large", "Too large")
	case errors.Is(err, txlog.ErrMalformed):
		return web.Failf(http.StatusBadRequest, "%v", err).Named("malformed", "Not understood")
	case errors.Is(err, store.ErrGone):
		return web.Failf(http.StatusGone, "%v", err).Named("entries-gone", "No longer here")
	case errors.Is(err, txlog.ErrSpoiled), errors.Is(err, quorum.ErrStopped):
		return web.Failf(http.StatusServiceUnavailable, "%v", err).Named("log-down", "The log does not run here").RetryAfter(1)
	case errors.Is(err, quorum.ErrUnconfirmed), errors.Is(err, txlog.ErrUnknown), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return web.Failf(http.StatusServiceUnavailable, "%v", err).Named("unknown-outcome", "Nobody can say yet").RetryAfter(1)
	}
	return web.Failf(http.StatusServiceUnavailable, "%v", err).Named("log-down", "The log does not run here").RetryAfter(1)
}

// unknownGoal says that nobody can say what became of a goal, and how to ask again. No leader takes one before it has the entry of
// since, so a since that is wrong waits for ever.
func unknownGoal(id string, since, newest uint64) error {
	ahead := ""
	if since > newest {
		ahead = fmt.Sprintf(". But no leader takes it before there is an entry %d, and the newest one that this node knows of is %d: if that since is a mistake, ask with the same goal_id and a smaller one", since, newest)
	}
	return web.Failf(http.StatusServiceUnavailable, "nobody can say yet what became of the goal. Asked again with goal_id %q and since %d, it is executed once, whatever has become of it%s", id, since, ahead).
		Named("unknown-outcome", "Nobody can say yet").RetryAfter(1)
}

// unseen says that nobody has confirmed who the members are, so that the leader was asked for nothing.
func unseen(why error) error {
	because := "no majority of the members answers"
	switch {
	case errors.Is(why, quorum.ErrManyReads):
		because = "the leader has no room for more reads"
	case errors.Is(why, quorum.ErrLags):
		because = "this node's copy is behind"
	case !errors.Is(why, quorum.ErrUnconfirmed):
		return refusal(why)
	}
	return web.Failf(http.StatusServiceUnavailable, "nothing was done: %s, so nobody can say who the members are now", because).
		Named("unknown-outcome", "Nobody can say yet").RetryAfter(1)
}

// unknownChange says that nobody can say what became of a change of members, and how to ask again.
func unknownChange(why error, since uint64) error {
	because := ""
	if !errors.Is(why, txlog.ErrUnknown) { // which is about goals
		because = ": " + why.Error()
	}
	return web.Failf(http.StatusServiceUnavailable, "nobody can say yet whether the members have changed%s. Asked again with the same members and since %d, nothing is done twice, and nothing newer is undone", because, since).
		Named("unknown-outcome", "Nobody can say yet").RetryAfter(1)
}
