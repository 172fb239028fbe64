package arch

import (
	"regexp"
	"slices"
	"strings"
)

const (
	binary     = "./cmd/conch"
	lab        = "./cmd/conch/internal/lab"
	laboratory = "./cmd/conch/conch-lab" // the program of the laboratory
	frame      = "./internal/world"      // of all simulated worlds
)

// judges are the rooms of the laboratory that tests of the product may import: four judge, and skew turns a clock.
var judges = []string{lab + "/auditor", lab + "/evidence", lab + "/explorer", lab + "/pgaccount", lab + "/skew"}

func labWalls() []wall {
	return []wall{
		{
			name: "1 no room of the product knows the laboratory", check: checkLab,
			why: "users have to trust the code that they run, so it must not include code that only demonstrates or measures",
			breaches: []breach{
				{"a room", rooms(room("./cmd/conch/internal/web", lab+"/stage")), "./cmd/conch/internal/web must not import " + lab + "/stage"},
				{"a judge in code that ships", rooms(room("./cmd/conch/internal/node", lab+"/evidence")), "./cmd/conch/internal/node must not import"},
				{"cli takes the commands itself", rooms(room("./cmd/conch/internal/cli", lab)), "./cmd/conch/internal/cli must not import " + lab},
				{"an example", rooms(room("./examples/world", lab+"/sim")), "./examples/world must not import " + lab + "/sim"},
				{"its program looks further in", rooms(room(laboratory, lab+"/chaos")), laboratory + " must not import " + lab + "/chaos"},
				{"a test", rooms(room("./cmd/conch/internal/keeper").tested(lab + "/worker")), "the tests of ./cmd/conch/internal/keeper must not import"},
				{"a test of the commands", rooms(room(binary).tested(lab)), "the tests of ./cmd/conch must not import " + lab},
			},
		},
		{
			name: "1 worlds are for tests and the laboratory", check: checkWorlds,
			why: "a simulated world has other clocks and networks than those that users have, and code that ships must not know them",
			breaches: []breach{
				{"a wing", rooms(room("./gossip", frame)), "./gossip must not import the world " + frame},
				{"a room beside a wing's world", rooms(room("./gossip/internal/core", "./gossip/internal/crowd"), room("./gossip/internal/crowd", frame)), "./gossip/internal/core must not import the world ./gossip/internal/crowd"},
				{"a room of the command", rooms(room("./cmd/conch/internal/node", frame)), "./cmd/conch/internal/node must not import the world " + frame},
				{"a story", rooms(room("./pending", frame+"/story")), "./pending must not import the world " + frame + "/story"},
			},
		},
		{
			name: "1 conch links what users run, and nothing else", check: checkLinked,
			why: "what tests, shows, measures or simulates makes the program of every user larger, and its flags and its start slower",
			breaches: []breach{
				{"testing", house{links: []string{"fmt", "testing"}}, "./cmd/conch must not link testing"},
				{"a part of it", house{links: []string{"testing/iotest"}}, "./cmd/conch must not link testing/iotest"},
				{"a room for tests", house{links: []string{"./chain", "./chain/chaintest"}}, "./cmd/conch must not link ./chain/chaintest"},
				{"a simulated world", house{links: []string{lab + "/sim"}}, "./cmd/conch must not link " + lab + "/sim"},
				{"what worlds stand on", house{links: []string{frame + "/story"}}, "./cmd/conch must not link " + frame + "/story"},
			},
		},
		{
			name: "1 what is linked and not configured starts nothing", check: checkHeavy,
			why: "functions init of some libraries fill memory in every process, used or not: 3.8 MB of a leader's was the clients of one cloud's services",
			breaches: []breach{
				{"a client of a service", house{links: []string{"github.com/aws/aws-sdk-go-v2/service/kms/schemas"}}, "./cmd/conch must not link github.com/aws/aws-sdk-go-v2/service/kms/schemas"},
				{"what links them all", house{links: []string{"github.com/aws/aws-sdk-go-v2/config"}}, "./cmd/conch must not link github.com/aws/aws-sdk-go-v2/config"},
			},
		},
	}
}

// checkWorlds takes what stands on the frame, in a folder internal of a wing, for a world of that wing: only tests, rooms for tests, other
// worlds and the laboratory may know it.
func checkWorlds(h house) (complaints []string) {
	worlds := map[string]bool{}
	for _, p := range h.packages {
		floor, _ := floorOf(p.path)
		stands := slices.ContainsFunc(p.imports, func(to string) bool { return inside(to, frame) })
		worlds[p.path] = inside(p.path, frame) || stands && floor == wingFloor && strings.Contains(p.path, "/internal/")
	}
	for _, p := range h.packages {
		if inside(p.path, lab) || worlds[p.path] || isTestRoom(p.path) {
			continue
		}
		for _, to := range p.imports {
			if worlds[to] || inside(to, frame) {
				complaints = append(complaints, p.path+" must not import the world "+to)
			}
		}
	}
	return complaints
}

func checkLab(h house) (complaints []string) {
	for _, p := range h.packages {
		if inside(p.path, lab) {
			continue
		}
		for _, to := range p.imports {
			if inside(to, lab) && (p.path != laboratory || to != lab) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
		for _, to := range p.testImports {
			if inside(to, lab) && !slices.Contains(judges, to) {
				complaints = append(complaints, "the tests of "+p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

// checkLinked looks at all that is linked into the program: what libraries of others import, too.
func checkLinked(h house) (complaints []string) {
	for _, linked := range h.links {
		if inside(linked, "testing") || inside(linked, lab) || inside(linked, frame) || isHouse(linked) && isTestRoom(linked) {
			complaints = append(complaints, binary+" must not link "+linked)
		}
	}
	return complaints
}

// heavy are libraries of which a part is linked, and these packages not. TestWhatIsLinkedStartsLittle measures what others cost.
var heavy = []string{"github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/service"}

func checkHeavy(h house) (complaints []string) {
	for _, linked := range h.links {
		if slices.ContainsFunc(heavy, func(prefix string) bool { return inside(linked, prefix) }) {
			complaints = append(complaints, binary+" must not link "+linked)
		}
	}
	return complaints
}

func housed(p string) string { return modulePath + strings.TrimPrefix(p, ".") }

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
