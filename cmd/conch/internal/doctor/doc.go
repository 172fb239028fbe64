// Package doctor judges whether a database, and this machine, can carry an
// election, and says what to do about each thing that is in the way. It is pure:
// facts in, findings out; cmd/conch/internal/pgfacts finds the facts out. Services find
// out about what they need themselves, and judge it in the same words.
//
//	reachable encryption server schema privileges pooler          can conch work here at all?
//	locks connections                                             is there room?
//	replication durability settings guards                        does what it relies on hold?
//	clock boottime                                                this machine
//	history holders leaders roles takeover identities             the scopes, as they are now
//
// ok is as it should be; warn works and costs something that the detail names; fail
// keeps conch from leading, or breaks a guarantee. Everything but ok has a remedy.
package doctor

// Status is how bad it is.
type Status string

// The three of them.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// check judges one thing; several findings where each has a remedy of its own.
type check struct {
	name  string
	needs need
	judge func(Facts) []Finding
}

// need is what must be there for a check to have something to look at.
type need int

const (
	nothing  need = iota
	election      // which a standalone node takes no part in
	server
	schema
)

var checks = []check{
	{"reachable", nothing, reachable},
	{"encryption", server, encryption},
	{"server", server, serverVersion},
	{"pooler", server, pooler},
	{"schema", server, schemaVersion},
	{"privileges", schema, privileges},
	{"locks", server, locks},
	{"connections", server, connections},
	{"replication", server, replication},
	{"durability", server, durability},
	{"settings", server, settings},
	{"guards", schema, guards},
	{"clock", server, clock},
	{"boottime", election, boottime},
	{"history", schema, history},
	{"holders", schema, holders},
	{"leaders", schema, leaders},
	{"roles", schema, roles},
	{"takeover", schema, takeover},
	{"identities", schema, identities},
}

// Judge goes through all checks. What a check could not look at is a warning, for
// not to know is not to be well.
func Judge(f Facts) []Finding {
	var all []Finding
	for _, c := range checks {
		switch {
		case c.needs >= election && f.Standalone:
			continue // said once, by reachable
		case c.needs >= server && f.Unreachable != "", c.needs == schema && f.Schema == 0:
			continue // said once, by the check that found it
		case f.Unread[c.name] != "":
			all = append(all, Finding{
				Check: c.name, Status: Warn, Detail: "could not be looked at: " + f.Unread[c.name],
				Remedy: "let doctor connect as a role that may look, such as the one that nodes use",
			})
			continue
		}
		for _, found := range c.judge(f) {
			all = append(all, About(c.name, found)...)
		}
	}
	return all
}

// About are findings of one check.
func About(check string, found ...Finding) []Finding {
	for i := range found {
		found[i].Check = check
	}
	return found
}

// Well is a finding with nothing to do about it.
func Well(detail string) Finding { return Finding{Status: OK, Detail: detail} }

// Warning is a finding that costs something.
func Warning(detail, remedy string) Finding {
	return Finding{Status: Warn, Detail: detail, Remedy: remedy}
}

// Failure is a finding that keeps conch from its work.
func Failure(detail, remedy string) Finding {
	return Finding{Status: Fail, Detail: detail, Remedy: remedy}
}

func ok(detail string) []Finding { return []Finding{Well(detail)} }

func warn(detail, remedy string) []Finding { return []Finding{Warning(detail, remedy)} }

func fail(detail, remedy string) []Finding { return []Finding{Failure(detail, remedy)} }
