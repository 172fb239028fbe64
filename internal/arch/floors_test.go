package arch

import (
	"fmt"
	"slices"
	"strings"
)

// floors is the order of the house, from the ground up. A room in internal/ that is
// not listed is a leaf: it is on the ground floor and imports no other room.
var floors = [][]string{
	{"fence"},
	{"internal/pg", "internal/world", "chain", "transport", "deploy"},
	{"election", "pending", "sequencer", "gossip", "txlog", "schedule", "alerts", "chunksync"},
	{"cmd"},
	{"examples"},
}

const (
	wingFloor = 2
	// frontDoor is the root package: documentation only.
	frontDoor = "./"
	// services join wings: each may import the election and one other wing.
	services = "./cmd/conch/internal/service"
)

// stairs is the order of the packages of the election, bottom up.
var stairs = []string{"./election/mint", "./election", "./election/pgmint", "./election/pgops"}

// roomOf cuts a path down to its room: "./internal/pg/pgtest" is in internal/pg.
func roomOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "./"), "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// floorOf finds the floor of a package; a leaf stands on the ground with fence.
func floorOf(path string) (floor int, known bool) {
	r := roomOf(path)
	for i, names := range floors {
		if slices.Contains(names, r) {
			return i, true
		}
	}
	return 0, strings.HasPrefix(r, "internal/") || path == frontDoor
}

func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func isHouse(path string) bool { return strings.HasPrefix(path, "./") }

// isTestRoom tells the packages that exist for tests: electiontest, pgtest.
func isTestRoom(path string) bool { return strings.HasSuffix(path, "test") }

func floorWalls() []wall {
	return []wall{
		{
			name: "1 every room has a floor", check: checkPlan,
			why:      "no wall applies to a room without a floor: add the room to the table first",
			breaches: []breach{{"unplanned", rooms(room("./raft")), "./raft is on no floor"}},
		},
		{
			name: "1 imports point downwards", check: checkDownwards,
			why: "a package that imports a higher floor cannot be used, tested or understood without that floor",
			breaches: []breach{
				{"fence looks up", rooms(room("./fence", "./election")), "./fence must not import ./election"},
				{"a test looks up", rooms(room("./fence").tested("./election")), "the tests of ./fence must not import ./election"},
				{"chain looks sideways", rooms(room("./chain", "./transport")), "./chain must not import ./transport"},
				{"the frame of worlds knows a wing", rooms(room(frame, "./gossip")), frame + " must not import ./gossip"},
				{"a leaf looks out", rooms(room("./internal/clock", "./fence")), "./internal/clock must not import ./fence"},
				{"a leaf is imported by fence", rooms(room("./fence", "./internal/clock")), "./fence must not import ./internal/clock"},
				{"the library looks at the binary", rooms(room("./election", "./cmd/conch/internal/web")), "./election must not import"},
				{"the front door is imported", rooms(room("./election", "./")), "./election must not import ./"},
				{"the front door imports", rooms(room("./", "./fence")), "./ must not import ./fence"},
			},
		},
		{
			name: "1 operators stand above the mint", check: checkStairs,
			why: "a mint that needs what operators use cannot be judged alone, and it is the part that must be right",
			breaches: []breach{
				{"the mint", rooms(room("./election/pgmint", "./election/pgops")), "./election/pgmint must not import ./election/pgops"},
				{"its tests", rooms(room("./election/pgmint").tested("./election/pgops")), "the tests of ./election/pgmint must not import ./election/pgops"},
				{"the elector", rooms(room("./election").tested("./election/pgmint")), "the tests of ./election must not import ./election/pgmint"},
			},
		},
		{
			name: "1 wings never import each other", check: checkWings,
			why: "users adopt one wing without the others; two wings that import each other are one wing",
			breaches: []breach{
				{"code", rooms(room("./gossip", "./txlog")), "./gossip must not import the wing txlog"},
				{"a room of a wing", rooms(room("./chunksync/pgstore", "./schedule/cron")), "must not import the wing schedule"},
				{"a test", rooms(room("./gossip").tested("./schedule")), "the tests of ./gossip must not import the wing schedule"},
			},
		},
		{
			name: "1 only services join wings", check: checkJoiner,
			why: "one place shows how a wing uses the election, and one place changes it",
			breaches: []breach{
				{"a service of two wings", rooms(room(services+"/files", "./election", "./chunksync", "./pending")), services + "/files joins the wings [chunksync election pending]"},
				{"the node joins", rooms(room("./cmd/conch/internal/node", "./election", "./pending")), "./cmd/conch/internal/node joins"},
				{"cli joins", rooms(room("./cmd/conch/internal/cli", "./election", "./gossip")), "./cmd/conch/internal/cli joins the wings [election gossip]"},
				{"a simulated world joins", rooms(room(lab+"/sim/spread", "./txlog", "./gossip")), lab + "/sim/spread joins"},
			},
		},
		{
			name: "examples live outside", check: checkExamples,
			why:      "users cannot import internal packages, so an example that does is of no use to them",
			breaches: []breach{{"peeks", rooms(room("./examples/gate", "./internal/pg")), "./examples/gate must not import ./internal/pg"}},
		},
	}
}

func checkPlan(h house) (complaints []string) {
	for _, p := range h.packages {
		if _, known := floorOf(p.path); !known {
			complaints = append(complaints, p.path+" is on no floor")
		}
	}
	return complaints
}

func checkDownwards(h house) (complaints []string) {
	for _, p := range h.packages {
		for _, to := range p.imports {
			if isHouse(to) && !downwards(p.path, to) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
		for _, to := range p.testImports {
			// A test of the front door may import every room.
			if isHouse(to) && !downwards(p.path, to) && p.path != frontDoor {
				complaints = append(complaints, "the tests of "+p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

func checkStairs(h house) (complaints []string) {
	for _, p := range h.packages {
		if at := slices.Index(stairs, p.path); at >= 0 {
			complaints = append(complaints, p.mustNotImport(func(to string) bool { return slices.Contains(stairs[at+1:], to) })...)
		}
	}
	return complaints
}

func downwards(from, to string) bool {
	if from == frontDoor || to == frontDoor {
		return from == to // documentation only: its own test package may import it
	}
	if roomOf(from) == roomOf(to) {
		return true
	}
	lower, known := floorOf(to)
	if !known {
		return true // checkPlan has complained already
	}
	upper, _ := floorOf(from)
	if upper == wingFloor && lower == wingFloor {
		return true // checkWings reports it
	}
	leaf := strings.HasPrefix(roomOf(to), "internal/") && lower == 0
	if leaf {
		return roomOf(from) != "fence" && !isLeaf(from)
	}
	return lower < upper
}

func isLeaf(path string) bool {
	floor, _ := floorOf(path)
	return floor == 0 && strings.HasPrefix(roomOf(path), "internal/")
}

// wingsOf lists the wings among these imports.
func wingsOf(imports []string) (wings []string) {
	for _, to := range imports {
		if floor, _ := floorOf(to); isHouse(to) && floor == wingFloor {
			wings = append(wings, roomOf(to))
		}
	}
	slices.Sort(wings)
	return slices.Compact(wings)
}

func checkWings(h house) (complaints []string) {
	for _, p := range h.packages {
		if floor, _ := floorOf(p.path); floor != wingFloor {
			continue
		}
		own := roomOf(p.path)
		for _, w := range wingsOf(p.imports) {
			if w != own && !isElectorOf(own, w) {
				complaints = append(complaints, fmt.Sprintf("%s must not import the wing %s", p.path, w))
			}
		}
		for _, w := range wingsOf(p.testImports) {
			if w != own && !isElectorOf(own, w) {
				complaints = append(complaints, fmt.Sprintf("the tests of %s must not import the wing %s", p.path, w))
			}
		}
	}
	return complaints
}

// checkJoiner lets the laboratory have the kits of several wings: what a kit needs of its wing, it joins itself.
func checkJoiner(h house) (complaints []string) {
	for _, p := range h.packages {
		if floor, _ := floorOf(p.path); floor <= wingFloor || inside(p.path, "./examples") {
			continue
		}
		w := wingsOf(slices.DeleteFunc(slices.Clone(p.imports), func(to string) bool { return inside(p.path, lab) && isTestRoom(to) }))
		most := 1
		if inside(p.path, services) && slices.Contains(w, "election") {
			most = 2
		}
		if len(w) > most {
			complaints = append(complaints, fmt.Sprintf("%s joins the wings %v", p.path, w))
		}
	}
	return complaints
}

func checkExamples(h house) (complaints []string) {
	for _, p := range h.packages {
		if !inside(p.path, "./examples") {
			continue
		}
		for _, to := range p.imports {
			if strings.HasPrefix(to, "./internal/") {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
	}
	return complaints
}
