package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/conchhq/conch/fence"
)

// Config describes an elector. Mint is required; every other zero value means its
// default. Roles may come and go later: see [Elector.Add].
type Config struct {
	Mint Mint
	// ID names this process among the candidates; see [Identity]. It must not
	// contain ':' and must not be shared. Default: Identity of the host.
	ID    string
	Roles []Role

	Lease         time.Duration // how long leadership outlives its last heartbeat; default 3 s
	Heartbeat     time.Duration // default Lease/5, jittered by ±20 % (S10)
	LateThreshold time.Duration // shuts the gate this long after the last heartbeat sent; default Lease−Margin (S11)
	Margin        time.Duration // for clocks that run at unequal speed; default Lease/10, at least 50 ms
	CheckInterval time.Duration // the poll that repairs missed wakes; default Lease/3 (F3, F10)
	LockTimeout   time.Duration // how long a bid waits for a fence that somebody holds; default DefaultLockTimeout of the shortest lease (F10)
	BackoffMin    time.Duration // pause after a lost bid; default 200 ms (S5)
	BackoffMax    time.Duration // default 800 ms
	RetryMax      time.Duration // cap of the pause after errors; default 3 s (S5)
	DrainTimeout  time.Duration // how long acts may take to end when stepping down; default 10 s (F6)
	Takeover      Takeover      // default Strict
	StaleAfter    time.Duration // report a holder whose last heartbeat is older; 0: never. Observability only (S12)
	Follower      bool          // never lead anything (S27)

	Events Events
	Logger *slog.Logger // transitions and trouble; default slog.Default()
	Clock  fence.Clock  // default fence.Boottime; tests bring their own
	Seed   uint64       // of the jitter; default: derived from ID
}

// Role is something exactly one process may do at a time. At least one of Lead
// and Fenced may be set; with neither, only the gate is kept.
type Role struct {
	// Scope names it among all processes: 1 to 200 bytes of UTF-8.
	Scope string
	// Lead runs while this process leads and the act door is open. Its context
	// ends with the leadership, with a *LostError as its cause. Returning, with or
	// without an error, gives the leadership up.
	Lead func(ctx context.Context, l Leadership) error
	// Fenced runs from the moment the token is minted: all its effects must be
	// refused by the resource when the token is stale. Same contract as Lead.
	Fenced func(ctx context.Context, l Leadership) error

	// Warm gets this process ready to lead: it is called when a transfer to it is
	// about to happen, and the transfer waits for it a little. Its context ends some
	// seconds later. Optional.
	Warm func(ctx context.Context) error

	Lease         time.Duration // overrides Config's
	LateThreshold time.Duration
	Preferred     []string      // who bids first, in order, when the scope is free
	Never         []string      // who never leads
	StallAfter    time.Duration // step down when no Leadership.Progress came for this long; 0: never
}

// Bounds of a lease. A shorter one would be lost to ordinary scheduling delays.
const (
	MinLease = 200 * time.Millisecond
	MaxLease = 10 * time.Minute
)

// withDefaults fills what was left zero.
func (c Config) withDefaults() Config {
	c.Lease = or(c.Lease, 3*time.Second)
	c.Roles = slices.Clone(c.Roles)
	shortest := c.Lease
	for i := range c.Roles {
		c.Roles[i].Lease = or(c.Roles[i].Lease, c.Lease)
		shortest = min(shortest, c.Roles[i].Lease)
	}
	c.Heartbeat = or(c.Heartbeat, shortest/5)
	c.CheckInterval = or(c.CheckInterval, shortest/3)
	c.LockTimeout = or(c.LockTimeout, c.lockTimeout(shortest))
	c.BackoffMin = or(c.BackoffMin, 200*time.Millisecond)
	c.BackoffMax = or(c.BackoffMax, max(800*time.Millisecond, c.BackoffMin))
	c.RetryMax = or(c.RetryMax, 3*time.Second)
	c.DrainTimeout = or(c.DrainTimeout, 10*time.Second)
	c.Takeover = or(c.Takeover, Strict)
	c.ID = or(c.ID, Identity())
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	return c
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (c Config) margin(lease time.Duration) time.Duration {
	return or(c.Margin, max(lease/10, 50*time.Millisecond))
}

// Validate lists every fault of the configuration, joined.
func (c Config) Validate() error {
	asked := c.LockTimeout
	c = c.withDefaults()
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("election: "+format, args...)) }
	if c.Mint == nil {
		fault("Config.Mint is missing; pgmint.New makes one")
	}
	if err := ValidID(c.ID); err != nil {
		faults = append(faults, err)
	}
	switch c.Takeover {
	case Strict, Fast, Keep:
	default:
		fault("takeover %q is none of strict, fast, keep", c.Takeover)
	}
	if c.BackoffMax < c.BackoffMin {
		fault("BackoffMax %s is below BackoffMin %s", c.BackoffMax, c.BackoffMin)
	}
	seen := map[string]bool{}
	for _, r := range c.Roles {
		if err := ValidScope(r.Scope); err != nil {
			faults = append(faults, err)
		}
		if seen[r.Scope] {
			fault("scope %q has two roles", r.Scope)
		}
		seen[r.Scope] = true
		c.validateTimes(r, fault)
		if asked != 0 {
			c.validateLockTimeout(r, fault)
		}
	}
	return errors.Join(faults...)
}

func (c Config) validateTimes(r Role, fault func(string, ...any)) {
	margin := c.margin(r.Lease)
	switch {
	case r.Lease < MinLease || r.Lease > MaxLease:
		fault("scope %q: a lease of %s is not between %s and %s", r.Scope, r.Lease, MinLease, MaxLease)
	case c.Heartbeat*2 > r.Lease-margin:
		fault("scope %q: a heartbeat every %s is too slow for a lease of %s: two must fit before its margin of %s", r.Scope, c.Heartbeat, r.Lease, margin)
	case or(r.LateThreshold, c.LateThreshold) != 0 && or(r.LateThreshold, c.LateThreshold) <= c.Heartbeat+c.Heartbeat/5:
		fault("scope %q: the late threshold must exceed the heartbeat interval of %s and its jitter", r.Scope, c.Heartbeat)
	case margin < 0 || margin >= r.Lease/2:
		fault("scope %q: a margin of %s does not fit a lease of %s", r.Scope, margin, r.Lease)
	}
}

// lockTimeout is the default one: so short that no late threshold passes during it.
func (c Config) lockTimeout(shortest time.Duration) time.Duration {
	most := DefaultLockTimeout(shortest)
	for _, r := range c.Roles {
		most = min(most, max(c.spare(r)*3/4, time.Millisecond))
	}
	return most
}

// validateLockTimeout: calls run one after the other, so one that waits for a lock
// is a heartbeat that waits.
func (c Config) validateLockTimeout(r Role, fault func(string, ...any)) {
	most := min(c.spare(r), r.Lease*2/5) // no statement of the session outlasts half a lease
	if c.LockTimeout < time.Millisecond || c.LockTimeout >= most {
		fault("scope %q: a lock timeout of %s is not between 1ms and %s: heartbeats wait behind a bid that waits for a fence", r.Scope, c.LockTimeout, most)
	}
}

// Spare is how long after it was sent a heartbeat for a role may be answered and the gate
// is still open, if it was sent as late as jitter allows. Whoever is to end before the gate
// shuts can take part of it, and is told to end by a heartbeat that takes the rest.
func (c Config) Spare(r Role) time.Duration {
	c = c.withDefaults()
	r.Lease = or(r.Lease, c.Lease)
	return c.spare(r)
}

func (c Config) spare(r Role) time.Duration { return c.window(r) - c.Heartbeat - c.Heartbeat/5 }

// window is how long after its sending a heartbeat keeps the gate open.
func (c Config) window(r Role) time.Duration {
	return min(r.Lease-c.margin(r.Lease), or(or(r.LateThreshold, c.LateThreshold), r.Lease))
}

// ValidScope says what is wrong with a scope, if anything.
func ValidScope(scope string) error {
	switch {
	case scope == "":
		return errors.New("election: the scope is empty: name what is to be led, for example \"payments\"")
	case len(scope) > 200:
		return fmt.Errorf("election: the scope is %d bytes long; 200 are allowed", len(scope))
	case !utf8.ValidString(scope) || strings.ContainsFunc(scope, unicode.IsControl): // it is printed on terminals
		return fmt.Errorf("election: the scope %q is not valid text", scope)
	}
	return nil
}

// ValidID says what is wrong with a candidate's name, if anything.
func ValidID(id string) error {
	switch {
	case id == "":
		return errors.New("election: the instance id is empty")
	case len(id) > 200:
		return fmt.Errorf("election: the instance id is %d bytes long; 200 are allowed", len(id))
	case strings.ContainsRune(id, ':'):
		return fmt.Errorf("election: the instance id %q contains ':', which separates it from the epoch in notifications", id)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Errorf("election: the instance id %q is not valid text", id)
	}
	return nil
}
