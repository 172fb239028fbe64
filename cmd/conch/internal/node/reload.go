package node

import (
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// ReloadResult is the result of a reload. Its lists name scopes, and NeedsRestart keys.
type ReloadResult struct {
	OK           bool           `json:"ok"`
	Added        []string       `json:"added"`
	Removed      []string       `json:"removed"`
	Changed      []string       `json:"changed"` // takes effect with the next term
	NeedsRestart []string       `json:"needs_restart"`
	Faults       []config.Fault `json:"faults,omitempty"`
}

// reload reads the configuration, tokens and certificate again. After a fault in any of them
// nothing has changed.
func (n *Node) reload() {
	out := n.reread()
	if out.OK {
		n.log.Info("configuration read again", slog.Any("added", out.Added), slog.Any("removed", out.Removed), slog.Any("changed_from_next_term", out.Changed))
	}
	for _, f := range out.Faults {
		n.log.Error("configuration not changed", slog.String("fault", f.String()))
	}
	if len(out.NeedsRestart) > 0 {
		n.log.Warn("some changes take effect only after a restart", slog.Any("keys", out.NeedsRestart))
	}
	if n.dir != nil {
		if err := n.dir.Write(out); err != nil {
			n.log.Warn("the result of the reload cannot be written", slog.Any("error", err))
		}
	}
}

func (n *Node) reread() ReloadResult {
	fresh, err := n.opts.Load()
	if err == nil {
		err = Check(fresh, n.opts.Kinds)
	}
	if _, none := n.roles.(noRoles); none && err == nil {
		err = noRoles{}.assign(fresh) // before anything of it takes effect
	}
	if err != nil {
		return ReloadResult{Faults: faultsOf(err)}
	}
	applyFiles, err := n.rereadFiles()
	var apply func()
	if err == nil {
		apply, err = n.services.prepare(n.over, fresh)
	}
	if err != nil {
		return ReloadResult{Faults: faultsOf(err)}
	}
	out := compare(n.latest, fresh)
	out.NeedsRestart = append(out.NeedsRestart, fixed(n.cfg, fresh)...)
	// Keys that need a restart keep their old values.
	fresh.Node, fresh.Database, fresh.Named, fresh.Election.ID = n.cfg.Node, n.cfg.Database, n.cfg.Named, n.id
	apply() // before assign, which may start a role that needs it
	n.meters.Add(fresh.Scopes()...)
	if err := n.roles.assign(fresh); err != nil {
		return ReloadResult{Faults: faultsOf(err)}
	}
	applyFiles()
	n.latest = fresh
	n.show(fresh)
	n.awaitWithdrawn()
	return out
}

// withdrawTimeout is how long a reload waits for the database to know the removed roles. The node
// goes on trying after that.
const withdrawTimeout = 2 * time.Second

func (n *Node) awaitWithdrawn() {
	if n.electors == nil {
		return
	}
	withdrawn := make(chan struct{})
	n.calls.Go(func() {
		defer close(withdrawn)
		n.electors.awaitWithdrawn(n.over)
	})
	timer := time.NewTimer(withdrawTimeout)
	defer timer.Stop()
	select {
	case <-withdrawn:
	case <-timer.C:
		n.log.Warn("the database still shows this node as a candidate for removed roles")
	}
}

// rereadFiles reads the certificate and the tokens again. They take effect when apply is
// called, once nothing can fail any more.
func (n *Node) rereadFiles() (apply func(), err error) {
	applyCert := func() {}
	if n.cert != nil {
		if applyCert, err = n.cert.Read(); err != nil {
			return nil, err
		}
	}
	applyTokens, err := n.tokens.Read()
	if err != nil {
		return nil, err
	}
	return func() { applyCert(); applyTokens() }, nil
}

func faultsOf(err error) []config.Fault {
	if list, ok := errors.AsType[*config.FaultsError](err); ok {
		return list.List
	}
	return []config.Fault{{Text: err.Error()}}
}

func compare(old, fresh config.Config) ReloadResult {
	out := ReloadResult{OK: true, Added: []string{}, Removed: []string{}, Changed: []string{}, NeedsRestart: []string{}}
	was, is := byScope(old), byScope(fresh)
	for _, scope := range slices.Sorted(maps.Keys(is)) {
		before, known := was[scope]
		switch {
		case !known:
			out.Added = append(out.Added, scope)
		case !reflect.DeepEqual(before, is[scope]):
			out.Changed = append(out.Changed, scope)
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(was)) {
		if _, left := is[scope]; !left {
			out.Removed = append(out.Removed, scope)
		}
	}
	out.NeedsRestart = append(out.NeedsRestart, restarts(old, fresh)...)
	return out
}

func byScope(c config.Config) map[string]config.Role {
	all := map[string]config.Role{}
	for _, r := range c.Settled() {
		all[r.Scope] = r
	}
	return all
}

// fixed names the keys of services that differ from those with which the node has started, and that need a restart.
func fixed(began, fresh config.Config) (keys []string) {
	for _, s := range fresh.Sections {
		if section, is := s.(config.Fixed); is {
			keys = append(keys, section.Restarts(began, fresh)...)
		}
	}
	return keys
}

// restarts names the changed keys of the frame that need a restart.
func restarts(old, fresh config.Config) (keys []string) {
	o, f := old.Node, fresh.Node
	oldBase, freshBase := old.Database, fresh.Database
	oldBase.Locks, oldBase.LockBudget = freshBase.Locks, freshBase.LockBudget
	for _, k := range []struct {
		key     string
		differs bool
	}{
		{"node.listen", o.Listen != f.Listen},
		{"node.ops_listen", o.OpsListen != f.OpsListen},
		{"node.public_url", o.PublicURL != f.PublicURL},
		{"alerting.cluster", o.Cluster != f.Cluster},
		{"alerting.interval", o.SampleInterval != f.SampleInterval},
		{"metrics.per_scope", o.GaugesOnly != f.GaugesOnly},
		{"node.token_file", o.TokenFile != f.TokenFile},
		{"node.read_token_file", o.ReadTokenFile != f.ReadTokenFile},
		{"node.tls_cert", o.TLSCert != f.TLSCert},
		{"node.tls_key", o.TLSKey != f.TLSKey},
		{"node.data_dir", o.DataDir != f.DataDir},
		{"node.answer_max", old.AnswerMax() != fresh.AnswerMax()},
		{"node.standalone", o.Standalone != f.Standalone},
		{"node.instance_id", fresh.Election.ID != "" && fresh.Election.ID != old.Election.ID},
		{"database", !reflect.DeepEqual(oldBase, freshBase)},
		{"election.locks", old.Database.Locks != fresh.Database.Locks},
		{"election.lock_budget", old.Database.LockBudget != fresh.Database.LockBudget},
	} {
		if k.differs {
			keys = append(keys, k.key)
		}
	}
	return keys
}
