// Package doctor judges whether a database and this machine are fit for an election, and gives a
// remedy for each obstacle. It is pure: facts in, findings out; cmd/conch/internal/pgfacts gathers
// the facts. Services gather the facts about their own needs, and return the same findings.
//
//	reachable addresses encryption server schema privileges pooler   can conch work here at all?
//	tables waits                                                  are its tables its own, and free?
//	locks connections notifications                               is there room?
//	replication durability settings guards                        does what it relies on hold?
//	clock boottime                                                this machine
//	history holders leaders roles takeover identities             the scopes, as they are now
//
// ok means that all is as it should be; warn, that it works at a cost that the detail names; fail,
// that it keeps conch from leading or breaks a guarantee. Every finding but ok has a remedy. What is not
// configured has no finding.
package doctor

// Status is the severity of a finding.
type Status string

// The statuses.
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

// check judges one thing. It returns several findings if each has its own remedy.
type check struct {
	name  string
	needs need
	judge func(Facts) []Finding
}

// need is what a check needs to have anything to judge.
type need int

const (
	nothing  need = iota
	election      // a node without a database has none
	server
	schema
)

var checks = []check{
	{"reachable", nothing, reachable},
	{"addresses", server, addresses},
	{"encryption", server, encryption},
	{"server", server, serverVersion},
	{"pooler", server, pooler},
	{"schema", server, schemaVersion},
	{"tables", server, tables},
	{"waits", server, waits},
	{"privileges", schema, privileges},
	{"locks", server, locks},
	{"connections", server, connections},
	{"notifications", server, notifications},
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
	{"logs", schema, logs},
	{"names", schema, names},
}

// Judge runs all checks. A check whose facts could not be read is a warning: unknown is not well.
func Judge(f Facts) []Finding {
	var all []Finding
	for _, c := range checks {
		switch {
		case c.needs >= election && (f.Standalone || f.Unled):
			continue // said once, by reachable
		case c.needs >= server && f.Unreachable != "", c.needs == schema && f.Schema == 0:
			continue // said once, by the check that found it
		case f.Unread[c.name] != "":
			remedy := "let doctor connect as a role that may read them, such as the one that nodes use"
			if len(f.Locked) > 0 {
				remedy = "first do what the check waits says"
			}
			all = append(all, About(c.name, Warning("could not be looked at: "+f.Unread[c.name], remedy))...)
			continue
		}
		for _, found := range c.judge(f) {
			all = append(all, About(c.name, found)...)
		}
	}
	return all
}

// About returns findings as those of one check.
func About(check string, found ...Finding) []Finding {
	for i := range found {
		found[i].Check = check
	}
	return found
}

// Well returns a finding that needs no remedy.
func Well(detail string) Finding { return Finding{Status: OK, Detail: detail} }

// Warning returns a finding about something that works at a cost.
func Warning(detail, remedy string) Finding {
	return Finding{Status: Warn, Detail: detail, Remedy: remedy}
}

// Failure returns a finding about something that keeps conch from its work.
func Failure(detail, remedy string) Finding {
	return Finding{Status: Fail, Detail: detail, Remedy: remedy}
}

func ok(detail string) []Finding { return []Finding{Well(detail)} }

func warn(detail, remedy string) []Finding { return []Finding{Warning(detail, remedy)} }

func fail(detail, remedy string) []Finding { return []Finding{Failure(detail, remedy)} }
