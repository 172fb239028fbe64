package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/name"
)

// Config describes an elector. Mint is required; every other zero value means its default.
// [Elector.Add] and [Elector.Retire] change the roles later.
type Config struct {
	Mint mint.Mint
	// ID names this process among the candidates. It must be unique, 1 to 200 bytes of
	// UTF-8 without ':', and no other one to its readers' eyes; see [ValidID].
	// The default is made by [Identity].
	ID    string
	Roles []Role

	Lease         time.Duration // how long a leadership outlives its last heartbeat; default 3 s
	Heartbeat     time.Duration // interval of the heartbeats, jittered by ±20 % (S10); default a fifth of the shortest lease
	LateThreshold time.Duration // the gate shuts this long after the sending of the last heartbeat that succeeded; default, and at most, the lease less the margin (S11)
	Margin        time.Duration // how long before the lease's end the gate shuts, since clocks differ in speed; default a tenth of the lease, at least 50 ms
	CheckInterval time.Duration // interval of the polls, in case a wake was missed; default a third of the shortest lease (F3, F10)
	LockTimeout   time.Duration // how long a bid waits for a transaction that holds the fence; default DefaultLockTimeout of the shortest lease, or 3/4 of a role's Spare if that is less (F10)
	BackoffMin    time.Duration // shortest pause after a lost bid; default 200 ms (S5)
	BackoffMax    time.Duration // longest pause after a lost bid; default 800 ms, or BackoffMin if that is longer
	RetryMax      time.Duration // longest pause after errors; default 3 s (S5)
	DrainTimeout  time.Duration // how long acts may take to end when a scope is given up; default 10 s (F6)
	Takeover      mint.Takeover // default Strict
	StaleAfter    time.Duration // report a holder whose last heartbeat is older, and do nothing else (S12); 0: never
	Follower      bool          // never lead any scope (S27)

	Events Events
	Logger *slog.Logger // gets transitions and errors; default slog.Default()
	Clock  fence.Clock  // default fence.Boottime; for tests
	Seed   uint64       // of the jitter; default: derived from ID
}

// Role is work that only one process may do at a time. Set Lead, Fenced or both; with neither,
// the elector only opens and shuts the gate for other code to ask.
type Role struct {
	// Scope names the role for all processes: 1 to 200 bytes of UTF-8 that readers tell from every
	// other scope, without a space at its ends and without what nobody sees.
	Scope string
	// Lead starts when the act door first opens. Its context ends with the leadership; the
	// cause is a *LostError. When Lead returns, with or without an error, the scope is given up.
	Lead func(ctx context.Context, l Leadership) error
	// Fenced starts when the token is minted. The resource must refuse all its effects when the
	// token is stale. Otherwise Fenced is like Lead: if both are set, the first that returns gives the
	// scope up.
	Fenced func(ctx context.Context, l Leadership) error

	// Warm, if set, gets this process ready to lead. pgops.Obey calls it in the target of a
	// transfer, before the leader steps down; Elector.Transfer does not.
	Warm func(ctx context.Context) error

	Lease         time.Duration // overrides Config.Lease
	LateThreshold time.Duration // overrides Config.LateThreshold
	Preferred     []string      // IDs of the candidates that bid first, in this order
	Never         []string      // IDs of the candidates that never lead
	StallAfter    time.Duration // give the scope up after this long without Leadership.Progress; 0: never
}

// MinLease and MaxLease limit a lease. Ordinary scheduling delays would end a shorter one; after a
// failover a successor may have to wait for a longer one.
const (
	MinLease = 200 * time.Millisecond
	MaxLease = 10 * time.Minute
)

// withDefaults replaces zero values by their defaults. The core has those of the times: see settings.
func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, core.DefaultLease)
	c.Roles = slices.Clone(c.Roles)
	for i := range c.Roles {
		c.Roles[i].Lease = cmp.Or(c.Roles[i].Lease, c.Lease)
	}
	c.ID = cmp.Or(c.ID, Identity())
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

// settings returns the core's part of a configuration that has its defaults.
func (c Config) settings() core.Settings {
	s := core.Settings{
		Takeover: c.Takeover, Lease: c.Lease, Heartbeat: c.Heartbeat, CheckInterval: c.CheckInterval,
		BackoffMin: c.BackoffMin, BackoffMax: c.BackoffMax, RetryMax: c.RetryMax, StaleAfter: c.StaleAfter,
		LockTimeout: c.LockTimeout, DrainTimeout: c.DrainTimeout, Seed: c.Seed,
	}
	if s.Seed == 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.ID))
		s.Seed = h.Sum64()
	}
	for _, r := range c.Roles {
		s.Seats = append(s.Seats, c.seat(r))
	}
	return s.WithDefaults()
}

// seat returns the core's part of a role.
func (c Config) seat(r Role) core.SeatSettings {
	seat := core.SeatSettings{
		Scope: r.Scope, Lease: r.Lease, Margin: c.Margin, Late: cmp.Or(r.LateThreshold, c.LateThreshold), Rank: len(r.Preferred),
		Never: c.Follower || slices.Contains(r.Never, c.ID),
	}
	if i := slices.Index(r.Preferred, c.ID); i >= 0 {
		seat.Rank = i
	}
	return seat.WithDefaults()
}

// Validate returns the faults of the configuration, joined; of the times of each role only the
// first.
func (c Config) Validate() error {
	c = c.withDefaults()
	set := c.settings()
	f := faults.List{Of: "election: "}
	f.Add(c.Mint == nil, "Config.Mint is missing; pgmint.New makes one")
	f.Join(ValidID(c.ID))
	f.Add(!slices.Contains([]mint.Takeover{mint.Strict, mint.Fast, mint.Keep}, set.Takeover), "takeover %q is none of strict, fast, keep", set.Takeover)
	for _, d := range []struct {
		name string
		is   time.Duration
	}{
		{"Heartbeat", set.Heartbeat}, {"CheckInterval", set.CheckInterval}, {"BackoffMin", set.BackoffMin},
		{"RetryMax", set.RetryMax}, {"DrainTimeout", set.DrainTimeout},
	} {
		f.Add(d.is < 0, "a %s of %s is negative", d.name, d.is)
	}
	f.Add(set.BackoffMax < set.BackoffMin, "BackoffMax %s is below BackoffMin %s", set.BackoffMax, set.BackoffMin)
	seen := map[string]bool{}
	for _, r := range c.Roles {
		if err := ValidScope(r.Scope); err != nil {
			f.Join(err)
		} else {
			why := name.Fault(r.Scope)
			f.Add(why != "", "the scope %q %s", r.Scope, why)
		}
		f.Add(seen[r.Scope], "scope %q has two roles", r.Scope)
		seen[r.Scope] = true
		f.Join(c.validateTimes(r, set))
		if c.LockTimeout != 0 { // the default fits by itself
			f.Join(c.validateLockTimeout(r, set))
		}
	}
	return f.All()
}

func (c Config) validateTimes(r Role, set core.Settings) error {
	margin, late := c.seat(r).Margin, cmp.Or(r.LateThreshold, c.LateThreshold)
	switch {
	case r.Lease < MinLease || r.Lease > MaxLease:
		return fmt.Errorf("election: scope %q: a lease of %s is not between %s and %s", r.Scope, r.Lease, MinLease, MaxLease)
	case set.Heartbeat*2 > r.Lease-margin:
		return fmt.Errorf("election: scope %q: a heartbeat every %s is too slow for a lease of %s: two heartbeats must fit into the lease less its margin of %s", r.Scope, set.Heartbeat, r.Lease, margin)
	case late != 0 && late <= set.Heartbeat+set.Heartbeat/5:
		return fmt.Errorf("election: scope %q: the late threshold must exceed the heartbeat interval of %s and its jitter", r.Scope, set.Heartbeat)
	case margin < 0 || margin >= r.Lease/2:
		return fmt.Errorf("election: scope %q: a margin of %s does not fit a lease of %s", r.Scope, margin, r.Lease)
	}
	return nil
}

// validateLockTimeout limits the lock timeout, since a bid that waits for a lock delays the
// heartbeats of its session.
func (c Config) validateLockTimeout(r Role, set core.Settings) error {
	most := min(set.Spare(c.seat(r)), r.Lease*2/5) // pgmint ends a statement after half a lease; the rest is for the other work of the bid
	if c.LockTimeout < time.Millisecond || c.LockTimeout >= most {
		return fmt.Errorf("election: scope %q: a lock timeout of %s is not between 1ms and %s: a bid that waits for a fence delays the heartbeats", r.Scope, c.LockTimeout, most)
	}
	return nil
}

// Spare returns how long the answer to a heartbeat may take before the role's gate shuts, if the
// heartbeat is sent as late as jitter allows. A role that needs some time to end before the gate
// shuts must be asked to end once an answer takes longer than Spare less that time. The role should
// be one of c.Roles, since the default Heartbeat depends on them.
func (c Config) Spare(r Role) time.Duration {
	c = c.withDefaults()
	r.Lease = cmp.Or(r.Lease, c.Lease)
	return c.settings().Spare(c.seat(r))
}

// ValidScope returns an error unless scope is 1 to 200 bytes of UTF-8 without control characters, as scopes in a database are.
// [Config.Validate] refuses more: those that readers could take for another one.
func ValidScope(scope string) error {
	switch {
	case scope == "":
		return errors.New("election: the scope is empty: give it a name, for example \"payments\"")
	case len(scope) > 200:
		return fmt.Errorf("election: the scope is %d bytes long; 200 are allowed", len(scope))
	case !utf8.ValidString(scope) || strings.ContainsFunc(scope, unicode.IsControl): // terminals print scopes
		return fmt.Errorf("election: the scope %q is not valid text", scope)
	}
	return nil
}

// ValidID returns an error unless id is 1 to 200 bytes of UTF-8 without ':', and readers cannot take it for another one.
func ValidID(id string) error {
	switch why := name.Fault(id); {
	case id == "":
		return errors.New("election: the instance id is empty")
	case len(id) > 200:
		return fmt.Errorf("election: the instance id is %d bytes long; 200 are allowed", len(id))
	case strings.ContainsRune(id, ':'):
		return fmt.Errorf("election: the instance id %q contains ':', which separates it from the epoch in notifications", id)
	case why != "":
		return fmt.Errorf("election: the instance id %q %s", id, why)
	}
	return nil
}
