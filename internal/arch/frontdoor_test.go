package arch

import (
	"regexp"
	"slices"
	"strings"
)

// planned is the heading of the front door's list of planned wings.
const planned = "Planned, and not there yet"

var (
	plannedRoom = regexp.MustCompile(`(?m)^//   - ([\w/]+)[:;,]`)
	toldRoom    = regexp.MustCompile(`\[` + regexp.QuoteMeta(modulePath) + `/([\w/]+)\]`)
)

func frontDoorRules() []wall {
	told := "// Here: [" + modulePath + "/chain]\n"
	return []wall{{
		name: "the front door tells what is there", check: checkFrontDoor,
		why: "a reader does not look for a wing that the first page omits or calls planned",
		breaches: []breach{
			{"not told", built("// Here: nothing.\n", "./pending"), "doc.go does not tell of pending"},
			{"a room of a wing", built(told, "./chain", "./chain/chaintest"), "doc.go does not tell of chain/chaintest"},
			{"told as planned", built(told+"// "+planned+"\n//   - chain: blocks\n", "./chain"), "doc.go calls chain planned"},
			{"a room that is gone", built(told, "./internal/pg"), "doc.go tells of chain, which is not there"},
		},
	}}
}

// checkFrontDoor wants every package that users can import in doc.go, and no other.
func checkFrontDoor(h house) (complaints []string) {
	var there []string
	for _, p := range h.packages {
		if floor, known := floorOf(p.path); known && floor <= wingFloor && p.name != "main" && p.path != frontDoor && !strings.Contains(p.path, "/internal/") {
			there = append(there, strings.TrimPrefix(p.path, "./"))
		}
	}
	for _, f := range h.files {
		if f.path != "doc.go" {
			continue
		}
		here, later, _ := strings.Cut(f.text, planned)
		var told []string
		for _, found := range toldRoom.FindAllStringSubmatch(here, -1) {
			told = append(told, found[1])
			if !slices.Contains(there, found[1]) {
				complaints = append(complaints, "doc.go tells of "+found[1]+", which is not there")
			}
		}
		for _, room := range there {
			if !slices.Contains(told, room) {
				complaints = append(complaints, "doc.go does not tell of "+room)
			}
		}
		for _, found := range plannedRoom.FindAllStringSubmatch(later, -1) {
			if slices.Contains(there, found[1]) {
				complaints = append(complaints, "doc.go calls "+found[1]+" planned")
			}
		}
	}
	return complaints
}

// built fabricates a house with a front door and these rooms.
func built(door string, names ...string) house {
	h := sources(file{"doc.go", door})
	for _, name := range names {
		h.packages = append(h.packages, room(name))
	}
	return h
}
