package arch

import (
	"slices"
	"strings"
	"testing"
)

// wall is one rule of the house.
type wall struct {
	name     string
	why      string               // a sentence that each failure prints
	check    func(house) []string // returns a complaint for each breach
	breaches []breach
}

// breach is a fabricated house that breaks one wall, and a part of the expected complaint.
type breach struct {
	name  string
	house house
	says  string
}

func walls() []wall {
	return slices.Concat(floorWalls(), labWalls(), serviceWalls(), wingWalls(), libraryWalls(), moduleWalls(), machineWalls(), houseRules(), paperRules(), modelRules(), citationRules(), frontDoorRules(), mapRules(), sqlstateRules(), glossaryRules(), proofRules(), outletRules())
}

func TestHouse(t *testing.T) {
	h := load(t)
	if len(h.packages) < 2 || len(h.files) < 2 {
		t.Fatalf("read only %d packages and %d files of the tree", len(h.packages), len(h.files))
	}
	for _, w := range walls() {
		t.Run(w.name, func(t *testing.T) {
			for _, complaint := range w.check(h) {
				t.Errorf("%s\n\twhy this wall stands: %s", complaint, w.why)
			}
		})
	}
}

// TestWallsCanFail gives each wall the houses that break it. No other wall may
// complain: a breach of two walls proves neither.
func TestWallsCanFail(t *testing.T) {
	all := walls()
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			if w.why == "" || len(w.breaches) == 0 {
				t.Fatal("a wall needs a reason and at least one fabricated breach")
			}
			for _, b := range w.breaches {
				t.Run(b.name, func(t *testing.T) { tryBreach(t, all, w, b) })
			}
		})
	}
}

func tryBreach(t *testing.T, all []wall, broken wall, b breach) {
	t.Helper()
	complaints := broken.check(b.house)
	if !slices.ContainsFunc(complaints, func(c string) bool { return strings.Contains(c, b.says) }) {
		t.Errorf("got the complaints %q, want one that contains %q", complaints, b.says)
	}
	for _, other := range all {
		if other.name == broken.name {
			continue
		}
		if also := other.check(b.house); len(also) > 0 {
			t.Errorf("the wall %q complains too: %q", other.name, also)
		}
	}
}

// TestSoundHouse gives every wall the finished house of the design: a wall that always
// complains is no better than one that never does.
func TestSoundHouse(t *testing.T) {
	h := soundHouse()
	for _, w := range walls() {
		for _, complaint := range w.check(h) {
			t.Errorf("%s: %s", w.name, complaint)
		}
	}
}

func soundHouse() house {
	const pgx, geth = "github.com/jackc/pgx/v5", "github.com/ethereum/go-ethereum/ethclient"
	return house{
		packages: []pkg{
			room("./"),
			room("./fence", "time", "golang.org/x/sys/unix").tested("go.uber.org/goleak"),
			room("./internal/arch").tested("go/parser"),
			room("./internal/pg", "context", pgx),
			room("./internal/pg/pgtest", "testing", "./internal/pg", "go.uber.org/goleak"),
			room("./chain", "context"), room("./chain/chaintest", "./chain"),
			room("./chain/evm", "./chain", geth), room("./chain/evm/cmd/conch-devnode", "./chain/evm", geth),
			room("./transport"), room("./transport/mtls", "./transport", "connectrpc.com/connect"),
			room("./election/mint", "./fence"), room("./election/internal/core", "./election/mint", "./fence"), room("./election/internal/electorate", "./election/internal/core", frame),
			room("./election", "./election/internal/core", "./election/mint", "./fence").tested("./election/electiontest", "go.uber.org/goleak"),
			room("./election/electiontest", "./election", "./election/internal/electorate", "testing"),
			room("./election/pgmint", "./election", "./fence", "./internal/pg", pgx).tested("./internal/pg/pgtest", "./election/internal/minttest"),
			room("./election/pgops", "./election/pgmint", "./election", "./internal/pg", pgx).tested("./election/internal/minttest"),
			room("./election/internal/minttest", "./election/pgmint", "./internal/pg/pgtest", "testing"),
			room("./pending", "./fence", "./chain"), room("./pending/pgstore", "./pending", "./internal/pg", pgx),
			room("./gossip", "./transport"), room("./gossip/internal/overlay"), room("./gossip/gossiptest", "./gossip/internal/overlay"),
			room("./gossip/internal/overlay/wire", "./gossip/internal/overlay", "./gossip/internal/overlay/wire/internal/wirepb", "google.golang.org/protobuf/proto"),
			room("./gossip/internal/overlay/wire/internal/wirepb", "google.golang.org/protobuf/runtime/protoimpl"),
			room("./sequencer"), room("./sequencer/internal/ranking"), room("./sequencer/internal/wire", "./sequencer/internal/wire/internal/wirepb", "./transport", "google.golang.org/protobuf/proto"),
			room("./sequencer/internal/wire/internal/wirepb", "google.golang.org/protobuf/runtime/protoimpl"),
			room("./sequencer/internal/sender", "./sequencer/internal/wire", "./sequencer/internal/ranking"),
			room("./sequencer/internal/coordinator", "./sequencer/internal/wire", "./fence", "./transport"),
			room("./sequencer/internal/endorser", "./sequencer/internal/wire"), room("./sequencer/ledger"), room("./sequencer/evm", "./sequencer/ledger", "./chain", geth),
			room("./txlog", "./fence", "./transport"), room("./txlog/prolog", "./txlog").tested("github.com/axone-protocol/prolog/v3"),
			room("./schedule", "./fence"), room("./chunksync", "./transport"),
			room(binary, "./cmd/conch/internal/cli", services).tested(lab + "/evidence"), room(laboratory, "./cmd/conch/internal/cli", lab, services), room(services, services+"/files"),
			room("./cmd/conch/internal/cli", "./cmd/conch/internal/node", "github.com/spf13/cobra"),
			room(lab, lab+"/evidence", "./cmd/conch/internal/cli", "./cmd/conch/internal/node", lab+"/sim", "./gossip/gossiptest"), room(lab+"/evidence", "./fence"), room(lab+"/sim", "./election", "./fence"),
			room("./cmd/conch/internal/node", "./election", "./fence", "./internal/pg"),
			room(services+"/files", "./cmd/conch/internal/node", "./election", "./chunksync", "./fence"),
			room(services+"/transactions", "./cmd/conch/internal/node", "./cmd/conch/internal/cli", "./election", "./pending"),
			room("./examples/gate", "./election", "./fence", pgx),
		},
		work: []string{".", "chain/evm", "chain/evm/cmd/conch-devnode", "cmd/conch", "sequencer/evm"},
		modules: []module{
			{dir: ".", requires: []require{{path: pgx, version: "v5.12.0"}}},
			nested("chain/evm", "../.."),
			{dir: "chain/evm/cmd/conch-devnode", requires: []require{{path: "github.com/ethereum/go-ethereum", version: "v1.17.10"}}},
			nested("cmd/conch", "../.."),
			nested("sequencer/evm", "../.."),
			nested("bench/peers", "../.."),
		},
		files: []file{
			{"election/machine.go", "package election\n\nimport \"time\"\n\ntype m struct{ at time.Time }\n"},
			{"election/bubble_test.go", "package election\n\nimport (\n\"testing/synctest\"\n\"time\"\n)\n\nfunc f() { synctest.Wait(); time.Sleep(1) }\n"},
			{"cmd/conch/conch-lab/main.go", "package main\n\nimport \"" + housed(lab) + "\"\n\nvar program = lab.Program\n"},
			{"docs/run.md", "conch listens on 127.0.0.1 and keeps its data in /var/lib/conch.\n"},
		},
	}
}

// room fabricates a package with these imports.
func room(path string, imports ...string) pkg {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return pkg{path: path, name: name, doc: "Package " + name + " is fabricated.", imports: imports}
}

// tested adds the imports of the package's tests.
func (p pkg) tested(imports ...string) pkg {
	p.testImports = imports
	return p
}

func rooms(packages ...pkg) house { return house{packages: packages} }

func nested(dir, up string) module {
	return module{
		dir:      dir,
		requires: []require{{path: modulePath, version: "v0.0.0"}},
		replaces: map[string]string{modulePath: up},
	}
}
