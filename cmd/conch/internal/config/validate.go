package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
)

// validate finds faults beyond single keys.
func (d *Decoder) validate(c Config) {
	d.validateNode(c)
	d.validateAnswers(c)
	for _, section := range c.Sections {
		section.Validate(d, c)
	}
	all := c.Settled()
	if len(all) == 0 && !c.everywhere() {
		d.Fault("roles", "there is nothing to lead: add a [[roles]] with a name")
	}
	scopes, places := map[string]int{}, c.Places()
	for i, r := range all {
		if r.Scope == "" {
			continue // its section has reported that
		}
		place := places[i]
		if first, taken := scopes[r.Scope]; taken {
			d.Fault(place+".scope", "%q is the scope of %s already: two roles of one scope would fight over it", r.Scope, places[first])
		}
		scopes[r.Scope] = i
		d.validateElection(place, c, r)
	}
}

func (d *Decoder) validateNode(c Config) {
	n := c.Node
	if c.Election.ID != "" {
		if err := election.ValidID(c.Election.ID); err != nil {
			d.Fault("node.instance_id", "%s", Plain(err))
		}
	}
	if n.Standalone && c.Named {
		d.Fault("node.standalone", "a standalone node uses no database, and one is configured: take one of the two out")
	}
	if n.Standalone && c.Election.Follower {
		d.Fault("node.standalone", "a standalone node leads all its scopes, and CONCH_LEADER_ENABLED=false says that it never leads: take one of the two out")
	}
	switch {
	case n.TLSCert == "" && n.TLSKey == "":
	case n.TLSCert == "":
		d.Fault("node.tls_key", "a key without tls_cert is of no use")
	case n.TLSKey == "":
		d.Fault("node.tls_cert", "a certificate without tls_key is of no use")
	}
}

// validateElection lets the election validate an elector with this role alone.
func (d *Decoder) validateElection(place string, c Config, r Role) {
	e := c.Elector(r)
	if election.ValidID(e.ID) != nil {
		e.ID = "" // a fault of the node, not of each role
	}
	if !slices.Contains([]mint.Takeover{mint.Strict, mint.Fast, mint.Keep}, e.Takeover) {
		e.Takeover = "" // its setter has reported that
	}
	d.validateNames(place+".preferred", r.Preferred)
	d.validateNames(place+".never", r.Never)
	for _, err := range Complaints(e, r.Kept) {
		d.complaint(place, Culprit(e, r.Kept, err), Plain(err))
	}
}

func (d *Decoder) validateNames(place string, ids []string) {
	for i, id := range ids {
		if err := election.ValidID(id); err != nil {
			d.Fault(fmt.Sprintf("%s[%d]", place, i), "%s", Plain(err))
		}
	}
}

// complaint adds a fault to a role's key if the role sets it. If [election] or the environment
// does, it adds the fault there, once for all roles.
func (d *Decoder) complaint(place, key, text string) {
	here, general := Under(place, key), Under("election", key)
	switch {
	case key == "":
		d.Fault(place, "%s", text)
	case d.lines[here] > 0 || d.lines[general] == 0 && d.said[general] == "":
		d.Fault(here, "%s", text)
	case !slices.Contains(d.told, general):
		d.told = append(d.told, general)
		d.Fault(general, "%s", text)
	}
}

// Plain returns an election's error without its prefix: a fault has a place instead.
func Plain(err error) string { return strings.TrimPrefix(err.Error(), "election: ") }
