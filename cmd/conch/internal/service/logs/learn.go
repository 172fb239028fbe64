package logs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
)

// word is what a node has said about how the log began, and when.
type word struct {
	genesis txlog.Genesis
	at      time.Time
}

// wordLasts is for how long it counts: the others are asked again and again, and one of them may be gone for good.
const wordLasts = 10 * seekEvery

// speech is of which log a node speaks, and with which one that goes on.
type speech struct{ log, parent txlog.ID }

// hear notes what a node says about how the log began. While nobody is believed, the log that the configuration names proves itself,
// by its id: then it does not matter which node says so.
func (r *part) hear(from string, g txlog.Genesis, now time.Time) {
	named, admitted := !r.ID.IsZero() && g.ID() == r.ID, r.may(from)
	if !named && !admitted {
		r.counts.refuse(reasonStranger)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.genesis != nil:
		if admitted && g.Namespace == r.Namespace { // its own log too: it counts which one more of them have
			r.others[from] = speech{g.ID(), g.Parent.Log}
		}
	case named:
		r.known[r.self] = word{g, now}
	default:
		r.known[from] = word{g, now}
	}
}

// How often the others are asked how the log began, and for how long their answers are waited for once the first is there.
const (
	seekEvery = time.Second / 2
	settle    = 2 * time.Second
)

// learn waits until it is known how the log began: its maker has told, or somebody has the one that the configuration names, or all say the
// same.
// Meanwhile the node says why it has no copy, if there is a reason.
func (r *part) learn(ctx context.Context, because error) (txlog.Genesis, error) {
	r.set(stateWaiting, because)
	if because != nil {
		r.log.Warn("this node asks the others how the log began", slog.Any("why", because))
	} else {
		r.log.Info("this node has no copy of the log yet, and asks the others")
	}
	tick := time.NewTicker(seekEvery)
	defer tick.Stop()
	var since time.Time
	said := ""
	for {
		select {
		case <-ctx.Done():
			return txlog.Genesis{}, ctx.Err()
		case g := <-r.begin:
			return g, nil
		case <-tick.C:
		}
		g, some, err := r.judge(time.Now())
		switch {
		case !some:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if some && err == nil && (!r.ID.IsZero() || time.Since(since) >= settle) {
			r.log.Warn("this node takes over the log of its peers", slog.String("id", g.ID().String()), slog.Bool("named", !r.ID.IsZero()))
			return g, nil
		}
		r.set(stateWaiting, cmp.Or(err, because))
		if err != nil && err.Error() != said {
			said = err.Error()
			r.log.Error("this node believes nobody how the log began", slog.Any("error", err))
		}
		for _, to := range r.peersNow() {
			if !r.ID.IsZero() || r.may(to) { // a guest is believed only if the log is named
				r.send(to, txlog.ID{}, founding.Seek{Serial: 1, Namespace: r.Namespace})
			}
		}
	}
}

// judge returns how the log began, as the others say: the one that the configuration names, or else the one of which all speak that have
// said something lately.
func (r *part) judge(now time.Time) (g txlog.Genesis, some bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ string, said word) bool { return now.Sub(said.at) > wordLasts })
	by := map[txlog.ID][]string{}
	var unfit error
	for from, said := range r.known {
		if why := r.fits(said.genesis); why != nil {
			unfit = fmt.Errorf("%s has another log: %w", from, why)
			continue
		}
		g = said.genesis
		by[g.ID()] = append(by[g.ID()], from)
	}
	if len(by) < 2 {
		if len(by) == 1 {
			unfit = nil // somebody else has the right one
		}
		return g, len(by) == 1, unfit
	}
	var all []string
	for id, names := range by {
		all = append(all, id.String()+" by "+strings.Join(sorted(names), ", "))
	}
	return g, true, fmt.Errorf("the others have several logs of that name (%s): put the id of the right one into [[logs]], as id", strings.Join(sorted(all), "; "))
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
