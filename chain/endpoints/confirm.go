package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
)

// Confirm implements chain.Chain. It asks other endpoints than the one that a claim came from, until one
// agrees and none differs; else it asks all, and a majority decides. It errs if nobody has answered at all: a
// silent endpoint does not hold up the claims that others can judge.
func (s *Set) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	opinions := make([]chain.Opinion, len(claims))
	judged := len(claims) == 0
	var faults []error
	for by, at := range byEndpoint(claims) {
		part := make([]chain.Claim, len(at))
		for n, i := range at {
			part[n] = claims[i]
		}
		said, err := s.confirm(ctx, by, part)
		if err != nil {
			faults = append(faults, err)
			for _, i := range at {
				opinions[i].Why = err.Error()
			}
			continue
		}
		judged = true
		for n, i := range at {
			opinions[i] = said[n]
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !judged {
		return nil, errors.Join(faults...)
	}
	return opinions, nil
}

// byEndpoint returns the positions of the claims of each endpoint.
func byEndpoint(claims []chain.Claim) map[string][]int {
	at := map[string][]int{}
	for i, c := range claims {
		at[c.By] = append(at[c.By], i)
	}
	return at
}

// votes are the opinions of other endpoints about a claim.
type votes struct {
	agree, differ []string
	seeing        []string // of those that agree, the ones that say which effect
	why           []string
}

// confirm asks about claims of one endpoint.
func (s *Set) confirm(ctx context.Context, by string, claims []chain.Claim) ([]chain.Opinion, error) {
	counts := make([]votes, len(claims))
	answered := false
	var faults []error
	for _, m := range s.order() {
		if m.Name == by || s.decided(counts) {
			continue
		}
		said, err := m.Chain.Confirm(ctx, claims)
		m.noteSilence(err)
		if err != nil {
			s.noteError(ctx, m, err)
			faults = append(faults, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		answered = true
		m.worked()
		for i, o := range said {
			counts[i].add(m.Name, o)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if by != "" && !answered && s.isAlone(by) {
		return s.askAnew(ctx, by, claims)
	}
	if !answered {
		return nil, errors.Join(faults...)
	}
	opinions := make([]chain.Opinion, len(claims))
	for i, v := range counts {
		opinions[i] = v.opinion(by, len(s.members))
	}
	return opinions, nil
}

func (v *votes) add(name string, o chain.Opinion) {
	switch o.Stand {
	case chain.Agrees:
		if v.agree = append(v.agree, name); !o.Blind {
			v.seeing = append(v.seeing, name)
		}
	case chain.Differs:
		v.differ = append(v.differ, name)
	case chain.Mute:
	}
	if o.Stand != chain.Agrees {
		v.why = append(v.why, name+": "+o.Why)
	}
}

// opinion returns what so many endpoints say together, of which one has made the claim unless by is empty.
func (v *votes) opinion(by string, all int) chain.Opinion {
	half, supporters := all/2, len(v.agree)
	if by != "" {
		supporters++
	}
	switch {
	case len(v.differ) == 0 && len(v.agree) > 0, len(v.agree) > 0 && supporters > half && len(v.differ) <= half && all > 2:
		if len(v.seeing) == 0 {
			return chain.Opinion{Stand: chain.Agrees, By: v.agree[0], Blind: true}
		}
		return chain.Opinion{Stand: chain.Agrees, By: v.seeing[0]}
	case len(v.differ) > 0:
		return chain.Opinion{Stand: chain.Differs, By: strings.Join(v.differ, ", "), Why: strings.Join(v.why, "; ")}
	}
	return chain.Opinion{Why: strings.Join(v.why, "; ")}
}

// decided reports whether no further endpoint has to be asked: all claims have a second opinion that
// agrees, and nobody differs.
func (s *Set) decided(counts []votes) bool {
	return !slices.ContainsFunc(counts, func(v votes) bool { return len(v.seeing) == 0 || len(v.differ) > 0 })
}

// noteSilence notes whether the endpoint has given an opinion.
func (m *member) noteSilence(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.silent = time.Time{}
	case m.silent.IsZero():
		m.silent = time.Now()
	}
}

// isAlone reports whether every other endpoint has been silent for Config.Alone.
func (s *Set) isAlone(by string) bool {
	for _, m := range s.members {
		m.mu.Lock()
		silent := m.silent
		m.mu.Unlock()
		if m.Name != by && (silent.IsZero() || time.Since(silent) < s.cfg.Alone) {
			return false
		}
	}
	return true
}

// askAnew asks the endpoint itself that the claims came from.
func (s *Set) askAnew(ctx context.Context, by string, claims []chain.Claim) ([]chain.Opinion, error) {
	for _, m := range s.members {
		if m.Name != by {
			continue
		}
		if len(s.members) > 1 {
			s.trouble(fmt.Errorf("%w: no endpoint but %s has answered for %v: it is asked twice for the end of a transaction", chain.ErrUnreachable, by, s.cfg.Alone))
		}
		own := slices.Clone(claims)
		for i := range own {
			own[i].By = "" // the driver does not know its endpoint by this name
		}
		said, err := m.Chain.Confirm(ctx, own)
		for i := range said {
			said[i].By = by
		}
		return said, err
	}
	return nil, fmt.Errorf("%w: there is no endpoint %q any more", chain.ErrUnreachable, by)
}
