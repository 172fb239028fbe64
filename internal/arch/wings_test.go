package arch

import (
	"fmt"
	"slices"
	"strings"
)

var (
	// actors work behind a gate; electors choose the leader.
	actors   = []string{"pending", "txlog", "sequencer", "schedule", "alerts"}
	electors = []string{"election", "gossip"}
	// suggesters suggest a leader without making one.
	suggesters = []string{"./sequencer/internal/ranking", "./gossip"}
	// roles of the sequencer run on different machines.
	roles = []string{"./sequencer/internal/sender", "./sequencer/internal/coordinator", "./sequencer/internal/endorser"}
	// shared are the packages that the roles have in common, so they import no role.
	shared = []string{"./sequencer/domain", "./sequencer/internal/wire", "./sequencer/internal/ranking", "./sequencer/ledger", "./sequencer/internal/grants", "./sequencer/internal/book"}
)

// The book is read by every role, so it knows the words and no policy.
const bookkeeper = "./sequencer/internal/book"

var booked = []string{"./sequencer/domain", "./sequencer/ledger", "./sequencer/internal/wire"}

// isElectorOf reports whether checkActors reports this import.
func isElectorOf(actor, elector string) bool {
	return slices.Contains(actors, actor) && slices.Contains(electors, elector)
}

func wingWalls() []wall {
	return []wall{
		{
			name: "2 actors never know elections", check: checkActors,
			why: "an actor needs only a gate, so it works with any mint and any election",
			breaches: []breach{
				{"pending", rooms(room("./pending", "./election")), "./pending must not import ./election"},
				{"a store", rooms(room("./txlog/pgstore", "./election/pgmint")), "./txlog/pgstore must not import ./election/pgmint"},
				{"sequencer", rooms(room("./sequencer/internal/sender", "./gossip")), "./sequencer/internal/sender must not import ./gossip"},
				{"a test", rooms(room("./schedule").tested("./election/electiontest")), "the tests of ./schedule must not import"},
			},
		},
		{
			name: "3 a suggestion is not a token", check: checkSuggesters,
			why: "two nodes may have different suggestions: code that can reach a token may confuse it with a suggestion",
			breaches: []breach{
				{"ranking", rooms(room("./sequencer/internal/ranking", "./fence")), "./sequencer/internal/ranking must not reach ./fence"},
				{"gossip", rooms(room("./gossip/internal/overlay", "./fence")), "./gossip/internal/overlay must not reach ./fence"},
				{
					"by a detour",
					rooms(room("./sequencer/internal/ranking", "./sequencer/internal/wire"), room("./sequencer/internal/wire", "./fence")),
					"./sequencer/internal/ranking must not reach ./fence (by ./sequencer/internal/wire)",
				},
			},
		},
		{
			name: "4 sequencer roles meet on the wire", check: checkRoles,
			why: "roles run on different machines, so a value that they share in memory is missing in production",
			breaches: []breach{
				{"two roles", rooms(room("./sequencer/internal/sender", "./sequencer/internal/coordinator")), "./sequencer/internal/sender must not import ./sequencer/internal/coordinator"},
				{"a test", rooms(room("./sequencer/internal/endorser").tested("./sequencer/internal/sender")), "the tests of ./sequencer/internal/endorser must not import"},
				{"the wire knows a role", rooms(room("./sequencer/internal/wire", "./sequencer/internal/sender")), "./sequencer/internal/wire must not import"},
				{"the book knows a policy", rooms(room("./sequencer/internal/book", "./sequencer/internal/wire", "./sequencer/internal/ranking")), "./sequencer/internal/book must not import ./sequencer/internal/ranking"},
				{"the domain knows a role", rooms(room("./sequencer/domain", "./sequencer/internal/endorser")), "./sequencer/domain must not import"},
			},
		},
	}
}

func checkActors(h house) (complaints []string) {
	for _, p := range h.packages {
		if !slices.Contains(actors, roomOf(p.path)) {
			continue
		}
		elector := func(to string) bool { return isHouse(to) && slices.Contains(electors, roomOf(to)) }
		complaints = append(complaints, p.mustNotImport(elector)...)
	}
	return complaints
}

func checkSuggesters(h house) (complaints []string) {
	for _, p := range h.packages {
		if !insideAny(p.path, suggesters) {
			continue
		}
		fence := func(to string) bool { return inside(to, "./fence") }
		if found, via := h.reach(p.path, fence); found != "" {
			complaints = append(complaints, fmt.Sprintf("%s must not reach %s%s", p.path, found, by(via)))
		}
	}
	return complaints
}

func checkRoles(h house) (complaints []string) {
	for _, p := range h.packages {
		own := slices.IndexFunc(roles, func(role string) bool { return inside(p.path, role) })
		common := insideAny(p.path, shared)
		if own < 0 && !common {
			continue
		}
		otherRole := func(to string) bool {
			at := slices.IndexFunc(roles, func(role string) bool { return inside(to, role) })
			return at >= 0 && at != own
		}
		complaints = append(complaints, p.mustNotImport(otherRole)...)
		if p.path == bookkeeper { // its tests may use more
			for _, to := range p.imports {
				if inside(to, "./sequencer") && !otherRole(to) && !slices.Contains(booked, to) {
					complaints = append(complaints, p.path+" must not import "+to)
				}
			}
		}
	}
	return complaints
}

func (p pkg) mustNotImport(bad func(string) bool) (complaints []string) {
	for _, to := range p.imports {
		if bad(to) {
			complaints = append(complaints, p.path+" must not import "+to)
		}
	}
	for _, to := range p.testImports {
		if bad(to) {
			complaints = append(complaints, "the tests of "+p.path+" must not import "+to)
		}
	}
	return complaints
}

// reach walks the imports of a package, without tests, through the packages of the
// house. It returns the first wanted import and the packages on the way to it.
func (h house) reach(from string, wanted func(string) bool) (found string, via []string) {
	byPath := make(map[string]pkg, len(h.packages))
	for _, p := range h.packages {
		byPath[p.path] = p
	}
	seen := map[string]bool{}
	var walk func(path string, trail []string) bool
	walk = func(path string, trail []string) bool {
		seen[path] = true
		for _, to := range byPath[path].imports {
			if wanted(to) {
				found, via = to, slices.Clone(trail)
				return true
			}
			if isHouse(to) && !seen[to] && walk(to, append(trail, to)) {
				return true
			}
		}
		return false
	}
	walk(from, nil)
	return found, via
}

func by(via []string) string {
	if len(via) == 0 {
		return ""
	}
	return " (by " + strings.Join(via, ", ") + ")"
}

func insideAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return inside(path, folder) })
}
