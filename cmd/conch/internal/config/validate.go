package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/conchhq/conch/election"
)

// validate looks for what each key alone does not show.
func (d *decoder) validate(c Config) {
	d.validateNode(c)
	d.validateAnswers(c)
	if len(c.Roles)+len(c.Accounts)+len(c.Files) == 0 {
		d.fault("roles", "there is nothing to lead: add a [[roles]] with a name")
	}
	d.validateChains(c)
	d.validateAccounts(c)
	d.validateFiles(c)
	names, scopes := map[string]int{}, map[string]int{}
	for i, r := range c.Settled() {
		place := c.place(i)
		if r.Account != nil || r.Files != nil {
			if r.Scope == "" {
				continue // it has no address, or no scope, which was said
			}
			if first, taken := scopes[r.Scope]; taken {
				d.fault(place, "%q is the scope of %s already", r.Scope, c.place(first))
			}
			scopes[r.Scope] = i
			d.validateTerms(place, c, r)
			continue
		}
		if r.Scope == "" {
			d.fault(place, "has neither name nor scope: give it a name")
			continue
		}
		if first, taken := names[r.Name]; taken {
			d.fault(place+".name", "%q is the name of roles[%d] already", r.Name, first)
		} else if first, taken := scopes[r.Scope]; taken {
			d.fault(place+".scope", "%q is the scope of roles[%d] already: two roles of one scope would fight over it", r.Scope, first)
		} else {
			names[r.Name], scopes[r.Scope] = i, i
		}
		if c.Node.Standalone && c.Election.ID != "" && slices.Contains(r.Never, c.Election.ID) {
			d.fault(place+".never", "%q is this node, which is standalone, and nobody else is there to lead it: take the name out, or the role", c.Election.ID)
		}
		d.validateWork(place, r)
		d.validateTerms(place, c, r)
	}
}

// place names one of the settled roles as the file does.
func (c Config) place(i int) string {
	if i < len(c.Roles) {
		return fmt.Sprintf("roles[%d]", i)
	}
	if i -= len(c.Roles); i < len(c.Accounts) {
		return fmt.Sprintf("accounts[%d]", i)
	}
	return fmt.Sprintf("files[%d]", i-len(c.Accounts))
}

func (d *decoder) validateNode(c Config) {
	n := c.Node
	if c.Election.ID != "" {
		if err := election.ValidID(c.Election.ID); err != nil {
			d.fault("node.instance_id", "%s", plain(err))
		}
	}
	if n.Standalone && c.Named {
		d.fault("node.standalone", "a standalone node uses no database, and one is configured: take one of the two out")
	}
	if n.Standalone && c.Election.Follower {
		d.fault("node.standalone", "a standalone node leads all that it has, and CONCH_LEADER_ENABLED=false says that it never leads: take one of the two out")
	}
	switch {
	case n.TLSCert == "" && n.TLSKey == "":
	case n.TLSCert == "":
		d.fault("node.tls_key", "a key without tls_cert is of no use")
	case n.TLSKey == "":
		d.fault("node.tls_cert", "a certificate without tls_key is of no use")
	}
}

// validateWork looks at what a role does while it leads.
func (d *decoder) validateWork(place string, r Role) {
	kinds := 0
	if r.Command != nil {
		kinds++
		if len(r.Command) == 0 || r.Command[0] == "" {
			d.fault(place+".command", "is empty: name a program")
		}
	}
	if r.HTTP != "" {
		kinds++
		// Faults do not repeat it: a password may be in it.
		if u, err := url.Parse(r.HTTP); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			d.fault(place+".http", "is not a URL such as http://127.0.0.1:9000/lead")
		} else if strings.ContainsAny(r.HTTP, "?#") {
			d.fault(place+".http", "has a ? or #: /start and /stop are put at its end, so end it with a path")
		}
	}
	if r.Builtin != "" {
		kinds++
		if r.Builtin != BuiltinLog {
			d.fault(place+".builtin", "%q is not built in: there is %q", r.Builtin, BuiltinLog)
		}
	}
	if kinds > 1 {
		d.fault(place, "does more than one of command, http, builtin: make it two roles")
	}
	if r.StallAfter > 0 && r.Builtin == "" {
		d.fault(place+".stall_after", "needs a role that reports its progress, and a command or a callback has no way to: take it out")
	}
}

// validateTerms asks the elector itself, with the role as its only one.
func (d *decoder) validateTerms(place string, c Config, r Role) {
	e := c.Elector(r)
	if election.ValidID(e.ID) != nil {
		e.ID = "" // a fault of the node, not of each role
	}
	if !slices.Contains([]election.Takeover{election.Strict, election.Fast, election.Keep}, e.Takeover) {
		e.Takeover = "" // said already, where it stands
	}
	d.validateNames(place+".preferred", r.Preferred)
	d.validateNames(place+".never", r.Never)
	for _, err := range Complaints(e, r.Command != nil) {
		d.complaint(place, Culprit(e, r.Command != nil, err), plain(err))
	}
}

func (d *decoder) validateNames(place string, ids []string) {
	for i, id := range ids {
		if err := election.ValidID(id); err != nil {
			d.fault(fmt.Sprintf("%s[%d]", place, i), "%s", plain(err))
		}
	}
}

// complaint is a fault of a role, or of [election] or the environment where these say what
// it is about: once for all roles then.
func (d *decoder) complaint(place, key, text string) {
	here, general := under(place, key), under("election", key)
	switch {
	case key == "":
		d.fault(place, "%s", text)
	case d.lines[here] > 0 || d.lines[general] == 0 && d.said[general] == "":
		d.fault(here, "%s", text)
	case !slices.Contains(d.told, general):
		d.told = append(d.told, general)
		d.fault(general, "%s", text)
	}
}

func plain(err error) string { return strings.TrimPrefix(err.Error(), "election: ") }
