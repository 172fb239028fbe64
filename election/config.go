package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	Takeover      mint.Takeover      // default Strict
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

// withDefaults replaces zero values by their defaults, except those that differ by role: margin
// and window have them.
func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	c.Roles = slices.Clone(c.Roles)
	shortest := c.Lease
	for i := range c.Roles {
		c.Roles[i].Lease = cmp.Or(c.Roles[i].Lease, c.Lease)
		shortest = min(shortest, c.Roles[i].Lease)
	}
	c.Heartbeat = cmp.Or(c.Heartbeat, shortest/5)
	c.CheckInterval = cmp.Or(c.CheckInterval, shortest/3)
	c.LockTimeout = cmp.Or(c.LockTimeout, c.lockTimeout(shortest))
	c.BackoffMin = cmp.Or(c.BackoffMin, 200*time.Millisecond)
	c.BackoffMax = cmp.Or(c.BackoffMax, max(800*time.Millisecond, c.BackoffMin))
	c.RetryMax = cmp.Or(c.RetryMax, 3*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	c.Takeover = cmp.Or(c.Takeover, mint.Strict)
	c.ID = cmp.Or(c.ID, Identity())
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

func (c Config) margin(lease time.Duration) time.Duration {
	return cmp.Or(c.Margin, max(lease/10, 50*time.Millisecond))
}

// Validate returns the faults of the configuration, joined; of the times of each role only the
// first.
func (c Config) Validate() error {
	explicit := c.LockTimeout != 0 // the default fits by itself
	c = c.withDefaults()
	f := faults.List{Of: "election: "}
	f.Add(c.Mint == nil, "Config.Mint is missing; pgmint.New makes one")
	f.Join(ValidID(c.ID))
	f.Add(!slices.Contains([]mint.Takeover{mint.Strict, mint.Fast, mint.Keep}, c.Takeover), "takeover %q is none of strict, fast, keep", c.Takeover)
	for _, d := range []struct {
		name string
		is   time.Duration
	}{
		{"Heartbeat", c.Heartbeat}, {"CheckInterval", c.CheckInterval}, {"BackoffMin", c.BackoffMin},
		{"RetryMax", c.RetryMax}, {"DrainTimeout", c.DrainTimeout},
	} {
		f.Add(d.is < 0, "a %s of %s is negative", d.name, d.is)
	}
	f.Add(c.BackoffMax < c.BackoffMin, "BackoffMax %s is below BackoffMin %s", c.BackoffMax, c.BackoffMin)
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
		f.Join(c.validateTimes(r))
		if explicit {
			f.Join(c.validateLockTimeout(r))
		}
	}
	return f.All()
}

func (c Config) validateTimes(r Role) error {
	margin := c.margin(r.Lease)
	switch {
	case r.Lease < MinLease || r.Lease > MaxLease:
		return fmt.Errorf("election: scope %q: a lease of %s is not between %s and %s", r.Scope, r.Lease, MinLease, MaxLease)
	case c.Heartbeat*2 > r.Lease-margin:
		return fmt.Errorf("election: scope %q: a heartbeat every %s is too slow for a lease of %s: two heartbeats must fit into the lease less its margin of %s", r.Scope, c.Heartbeat, r.Lease, margin)
	case cmp.Or(r.LateThreshold, c.LateThreshold) != 0 && cmp.Or(r.LateThreshold, c.LateThreshold) <= c.Heartbeat+c.Heartbeat/5:
		return fmt.Errorf("election: scope %q: the late threshold must exceed the heartbeat interval of %s and its jitter", r.Scope, c.Heartbeat)
	case margin < 0 || margin >= r.Lease/2:
		return fmt.Errorf("election: scope %q: a margin of %s does not fit a lease of %s", r.Scope, margin, r.Lease)
	}
	return nil
}

// lockTimeout returns the default lock timeout. A bid that waits holds up the heartbeats of its
// session, so it may take 3/4 of the time by which a heartbeat can be late with the gate open.
func (c Config) lockTimeout(shortest time.Duration) time.Duration {
	most := mint.DefaultLockTimeout(shortest)
	for _, r := range c.Roles {
		most = min(most, max(c.spare(r)*3/4, time.Millisecond))
	}
	return most
}

// validateLockTimeout limits the lock timeout, since a bid that waits for a lock delays the
// heartbeats of its session.
func (c Config) validateLockTimeout(r Role) error {
	most := min(c.spare(r), r.Lease*2/5) // pgmint ends a statement after half a lease; the rest is for the other work of the bid
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
	return c.spare(r)
}

func (c Config) spare(r Role) time.Duration { return c.window(r) - c.Heartbeat - c.Heartbeat/5 }

// window returns how long a heartbeat keeps the gate open, counted from its sending.
func (c Config) window(r Role) time.Duration {
	return min(r.Lease-c.margin(r.Lease), cmp.Or(cmp.Or(r.LateThreshold, c.LateThreshold), r.Lease))
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
