package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// later are the sections of wings that this version does not have. They are
// refused: a cron that is never run must not look configured.
var later = []string{"alerts", "contracts", "crons", "logs", "notify"}

func (d *decoder) sections(c *Config) map[string]setter {
	all := map[string]setter{
		"node":     func(place string, v any) { d.table(place, v, d.node(c)) },
		"database": func(place string, v any) { d.table(place, v, d.base(c)) },
		"election": func(place string, v any) { d.table(place, v, d.election(c)) },
		"roles":    func(place string, v any) { d.roles(place, v, c) },
		"chains":   func(place string, v any) { d.chains(place, v, c) },
		"accounts": func(place string, v any) { d.accounts(place, v, c) },
		"files":    func(place string, v any) { d.files(place, v, c) },
	}
	for _, name := range later {
		all[name] = func(place string, _ any) {
			d.fault(place, "[[%s]] is not in this version: take the section out", name)
		}
	}
	return all
}

func (d *decoder) node(c *Config) map[string]setter {
	n := &c.Node
	return map[string]setter{
		"instance_id": d.text(&c.Election.ID),
		"listen":      d.text(&n.Listen), "ops_listen": d.text(&n.OpsListen),
		"token_file": d.path(&n.TokenFile), "read_token_file": d.path(&n.ReadTokenFile),
		"tls_cert": d.path(&n.TLSCert), "tls_key": d.path(&n.TLSKey),
		"data_dir": d.path(&n.DataDir), "standalone": d.flag(&n.Standalone),
		"answer_max": d.span(&n.AnswerMax),
	}
}

func (d *decoder) base(c *Config) map[string]setter {
	return map[string]setter{
		"url": d.text(&c.Database.URL), "tls_insecure": d.flag(&c.Database.TLSInsecure),
		"tls_ca_file": d.path(&c.Database.TLSCAFile),
	}
}

func (d *decoder) election(c *Config) map[string]setter {
	e := &c.Election
	keys := d.tune(&e.Lease, &e.Heartbeat, &e.LateThreshold, &e.CheckInterval, &e.LockTimeout, &e.Takeover)
	keys["lock_budget"] = d.count(&c.Database.LockBudget)
	keys["locks"] = func(place string, v any) {
		text := ""
		d.text(&text)(place, v)
		switch locks := pgmint.Locks(text); locks {
		case pgmint.SessionLocks, pgmint.ProcessLocks, "":
			c.Database.Locks = locks
		default:
			d.fault(place, "%q is none of session, process", text)
		}
	}
	return keys
}

// tune are the keys that [election] and a role share.
func (d *decoder) tune(lease, heartbeat, late, check, lock *time.Duration, takeover *election.Takeover) map[string]setter {
	return map[string]setter{
		"lease": d.span(lease), "heartbeat": d.span(heartbeat), "late_threshold": d.span(late),
		"check_interval": d.span(check), "lock_timeout": d.span(lock),
		"takeover": func(place string, v any) {
			text := ""
			d.text(&text)(place, v)
			*takeover = election.Takeover(text)
			if !slices.Contains([]election.Takeover{election.Strict, election.Fast, election.Keep, ""}, *takeover) {
				d.fault(place, "%q is none of strict, fast, keep", text)
			}
		},
	}
}

func (d *decoder) roles(place string, value any, c *Config) {
	list, ok := value.([]any)
	if !ok {
		d.fault(place, "is one table: write [[roles]], in double brackets, once for each role")
		return
	}
	for i, v := range list {
		var r Role
		d.table(fmt.Sprintf("%s[%d]", place, i), v, d.role(&r))
		r.Scope = or(r.Scope, r.Name)
		r.Name = or(r.Name, r.Scope)
		c.Roles = append(c.Roles, r)
	}
}

func (d *decoder) role(r *Role) map[string]setter {
	keys := map[string]setter{
		"name": d.text(&r.Name), "scope": d.text(&r.Scope),
		"command": d.command(&r.Command), "http": d.word(&r.HTTP), "builtin": d.word(&r.Builtin),
		"fenced": d.flag(&r.Fenced), "preferred": d.texts(&r.Preferred), "never": d.texts(&r.Never),
		"stall_after": d.span(&r.StallAfter), "drain_timeout": d.span(&r.DrainTimeout),
	}
	maps.Copy(keys, d.tune(&r.Lease, &r.Heartbeat, &r.LateThreshold, &r.CheckInterval, &r.LockTimeout, &r.Takeover))
	return keys
}
