package config

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
)

// wings are the tables of all wings that conch has or will have. One without a service in this
// program is refused: a cron that never runs must not look configured.
var wings = []string{"accounts", "alerts", "chains", "contracts", "crons", "files", "gossip", "identity", "logs", "notify", "peers", "webhooks"}

func (d *Decoder) sections(c *Config) map[string]Setter {
	all := map[string]Setter{
		"node":     func(place string, v any) { d.Table(place, v, d.node(c)) },
		"database": func(place string, v any) { d.Table(place, v, d.base(c)) },
		"metrics":  func(place string, v any) { d.Table(place, v, d.metrics(c)) },
		"election": func(place string, v any) { d.Table(place, v, d.election(c)) },
		"alerting": func(place string, v any) {
			d.Table(place, v, map[string]Setter{"cluster": d.Name(&c.Node.Cluster), "interval": d.Span(&c.Node.SampleInterval)})
		},
	}
	for _, name := range wings {
		all[name] = func(place string, _ any) {
			d.Fault(place, "[[%s]] is not in this version: take the section out", name)
		}
	}
	for _, s := range c.Sections {
		maps.Copy(all, s.Keys(d))
	}
	return all
}

func (d *Decoder) node(c *Config) map[string]Setter {
	n := &c.Node
	return map[string]Setter{
		"instance_id": d.Text(&c.Election.ID),
		"listen":      d.Text(&n.Listen), "ops_listen": d.Text(&n.OpsListen), "public_url": d.Text(&n.PublicURL),
		"token_file": d.Path(&n.TokenFile), "read_token_file": d.Path(&n.ReadTokenFile),
		"tls_cert": d.Path(&n.TLSCert), "tls_key": d.Path(&n.TLSKey),
		"data_dir": d.Path(&n.DataDir), "standalone": d.Flag(&n.Standalone),
		"answer_max": d.Span(&n.AnswerMax),
	}
}

func (d *Decoder) metrics(c *Config) map[string]Setter {
	return map[string]Setter{"per_scope": func(place string, v any) {
		text := ""
		d.Text(&text)(place, v)
		c.Node.GaugesOnly = text == "gauges"
		if text != "gauges" && text != "full" {
			d.Fault(place, "%q is none of full, gauges", text)
		}
	}}
}

func (d *Decoder) base(c *Config) map[string]Setter {
	return map[string]Setter{
		"url": d.Text(&c.Database.URL), "tls_insecure": d.Flag(&c.Database.TLSInsecure),
		"tls_ca_file": d.Path(&c.Database.TLSCAFile),
	}
}

func (d *Decoder) election(c *Config) map[string]Setter {
	e := &c.Election
	keys := d.tune(&e.Lease, &e.Heartbeat, &e.LateThreshold, &e.CheckInterval, &e.LockTimeout, &e.Takeover)
	keys["lock_budget"] = d.Count(&c.Database.LockBudget)
	keys["locks"] = func(place string, v any) {
		text := ""
		d.Text(&text)(place, v)
		switch locks := pgmint.Locks(text); locks {
		case pgmint.SessionLocks, pgmint.ProcessLocks, "":
			c.Database.Locks = locks
		default:
			d.Fault(place, "%q is none of session, process", text)
		}
	}
	return keys
}

// tune returns the setters of the keys that [election] and roles share.
func (d *Decoder) tune(lease, heartbeat, late, check, lock *time.Duration, takeover *mint.Takeover) map[string]Setter {
	return map[string]Setter{
		"lease": d.Span(lease), "heartbeat": d.Span(heartbeat), "late_threshold": d.Span(late),
		"check_interval": d.Span(check), "lock_timeout": d.Span(lock),
		"takeover": func(place string, v any) {
			text := ""
			d.Text(&text)(place, v)
			*takeover = mint.Takeover(text)
			if !slices.Contains([]mint.Takeover{mint.Strict, mint.Fast, mint.Keep, ""}, *takeover) {
				d.Fault(place, "%q is none of strict, fast, keep", text)
			}
		},
	}
}

// Role returns the setters of the keys that every role has.
func (d *Decoder) Role(r *Role) map[string]Setter {
	keys := map[string]Setter{
		"name": d.Text(&r.Name), "scope": d.Text(&r.Scope), "fenced": d.Flag(&r.Fenced),
		"preferred": d.Texts(&r.Preferred), "never": d.Texts(&r.Never),
		"stall_after": d.Span(&r.StallAfter), "drain_timeout": d.Span(&r.DrainTimeout),
	}
	maps.Copy(keys, d.tune(&r.Lease, &r.Heartbeat, &r.LateThreshold, &r.CheckInterval, &r.LockTimeout, &r.Takeover))
	return keys
}
