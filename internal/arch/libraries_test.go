package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// library is third-party code and the rooms that may import it.
type library struct {
	prefix string
	// rooms are patterns over folders; each holds for everything below it.
	rooms []string
	// travels allows packages that import one of the rooms to reach the library too, as
	// with the message types of a protocol.
	travels bool
	// tests allows only tests, and packages that exist for tests, to import it.
	tests bool
	// root allows the root module to require it, so that every user of a wing downloads it.
	root bool
}

// libraries lists every library that the house may import.
var libraries = []library{
	{prefix: "golang.org/x", rooms: []string{"*"}, root: true},
	// The node passes a transaction on to the services that guard their tables (Tables.Guard).
	{prefix: "github.com/jackc/pgx", rooms: []string{"internal/pg", "*/pg*", "cmd/conch/internal/pg*", "cmd/conch/internal/lab/pg*", "cmd/conch/internal/node", "schedule/riverq", "examples"}, root: true},
	{prefix: "github.com/ethereum/go-ethereum", rooms: []string{"chain/evm", "sequencer/evm"}},
	{prefix: "github.com/cespare/xxhash", rooms: []string{"chain/substrate/extrinsic"}, travels: true},
	{prefix: "github.com/coder/websocket", rooms: []string{"chain/substrate/internal/rpc", "chain/substrate/substratetest"}, travels: true},
	{prefix: "github.com/decred/dcrd", rooms: []string{"chain/substrate/key"}, travels: true},
	{prefix: "github.com/oasisprotocol/curve25519-voi", rooms: []string{"chain/substrate/key"}, travels: true},
	// Its list of words alone.
	{prefix: "github.com/tyler-smith/go-bip39", rooms: []string{"chain/substrate/key"}, travels: true},
	{prefix: "github.com/aws", rooms: []string{"chain/keyservice/awskms"}},
	// A service returns its collectors, and the node hands them to metric; condition is what evaluates PromQL.
	{prefix: "github.com/prometheus", rooms: []string{"cmd/conch/internal/condition", "cmd/conch/internal/metric", "cmd/conch/internal/node", "cmd/conch/internal/service/*", "cmd/conch/internal/receiver/annotation"}},
	{prefix: "github.com/PagerDuty/go-pagerduty", rooms: []string{"cmd/conch/internal/receiver"}},
	{prefix: "github.com/slack-go/slack", rooms: []string{"cmd/conch/internal/receiver"}},
	{prefix: "github.com/wneessen/go-mail", rooms: []string{"cmd/conch/internal/receiver"}},
	{prefix: "github.com/spf13/cobra", rooms: []string{"cmd"}},
	{prefix: "github.com/spf13/pflag", rooms: []string{"cmd"}},
	{prefix: "github.com/pelletier/go-toml", rooms: []string{"cmd/conch/internal/config"}},
	// The roles of the sequencer import wire and reach it so; they see its messages and never its bytes.
	{prefix: "google.golang.org/protobuf", rooms: []string{"internal/prototest", "sequencer/internal/wire", "gossip/internal/wire", "gossip/internal/overlay/wire", "txlog/internal/wire", "txlog/internal/wirepb", "txlog/founding", "txlog/quorum", "cmd/conch/internal/lab/bare"}, travels: true, root: true},
	{prefix: "go.etcd.io/raft", rooms: []string{"txlog/quorum", "cmd/conch/internal/lab/bare"}},
	{prefix: "go.etcd.io/bbolt", rooms: []string{"txlog/quorum/disk"}},
	{prefix: "go.uber.org/goleak", tests: true, root: true},
	{prefix: "github.com/anishathalye/porcupine", tests: true, root: true},
	{prefix: "go.yaml.in/yaml", tests: true},
	{prefix: "connectrpc.com/connect", rooms: []string{"transport/mtls"}, root: true},
	// As a calendar in UTC alone: what clocks do is decided beside it. Those who ask when a schedule is due reach it so, and never see it.
	{prefix: "github.com/netresearch/go-cron", rooms: []string{"schedule/zone"}, travels: true, root: true},
	{prefix: "github.com/go-co-op/gocron", rooms: []string{"examples/gocron"}},
	{prefix: "github.com/riverqueue", rooms: []string{"schedule/riverq"}},
	{prefix: "github.com/chromedp", rooms: []string{"cmd/conch/internal/lab/browser"}},
	// As a judge of package prolog's reader and of its speed: nothing of it is in the program.
	{prefix: "github.com/axone-protocol/prolog", tests: true},
}

func libraryWalls() []wall {
	return []wall{
		{
			name: "5 a library lives in its rooms", check: checkLibraries,
			why: "a change of a library then affects the rooms of its row alone, and users of one wing do not compile the libraries of others",
			breaches: []breach{
				{"pgx in a machine", rooms(room("./election", "github.com/jackc/pgx/v5")), "./election must not reach github.com/jackc/pgx/v5"},
				{
					"pgx by a detour",
					rooms(room("./pending", "./pending/pgstore"), room("./pending/pgstore", "github.com/jackc/pgx/v5")),
					"./pending must not reach github.com/jackc/pgx/v5 (by ./pending/pgstore)",
				},
				{"RPC outside mtls", rooms(room("./transport", "connectrpc.com/connect")), "./transport must not reach connectrpc.com/connect"},
				{
					"geth in the sequencer", rooms(room("./sequencer", "./sequencer/evm"), room("./sequencer/evm", "github.com/ethereum/go-ethereum/rpc")),
					"./sequencer must not reach github.com/ethereum/go-ethereum/rpc (by ./sequencer/evm)",
				},
				{"geth outside evm", rooms(room("./chain", "github.com/ethereum/go-ethereum/rpc")), "./chain must not reach"},
				{"metrics in a wing", rooms(room("./schedule", "github.com/prometheus/client_golang/prometheus")), "./schedule must not reach"},
				{"metrics in another room of the binary", rooms(room("./cmd/conch/internal/web", "github.com/prometheus/client_golang/prometheus")), "./cmd/conch/internal/web must not reach"},
				{
					"metrics beside a room that has them",
					rooms(
						room("./cmd/conch/internal/cli", "./cmd/conch/internal/metric", "github.com/prometheus/client_golang/prometheus"),
						room("./cmd/conch/internal/metric", "github.com/prometheus/client_golang/prometheus"),
					),
					"./cmd/conch/internal/cli must not reach github.com/prometheus",
				},
				{
					"messages beside a room that has them",
					rooms(
						room("./sequencer/internal/sender", "./sequencer/internal/wire", "google.golang.org/protobuf/proto"),
						room("./sequencer/internal/wire", "google.golang.org/protobuf/proto"),
					),
					"./sequencer/internal/sender must not reach google.golang.org/protobuf",
				},
				{
					"bytes of messages in a role",
					rooms(room("./sequencer/internal/coordinator", "google.golang.org/protobuf/encoding/protowire")),
					"./sequencer/internal/coordinator must not reach google.golang.org/protobuf",
				},
				{"bytes of messages in a transport", rooms(room("./transport/mtls", "google.golang.org/protobuf/proto")), "./transport/mtls must not reach"},
				{"a store in the wrong room", rooms(room("./txlog/kv", "go.etcd.io/bbolt")), "./txlog/kv must not reach"},
			},
		},
		{
			name: "5 every library has a room", check: checkKnown,
			why: "each dependency is a decision, and it is made in this table",
			breaches: []breach{
				{"new", rooms(room("./cmd/conch", "example.com/shiny")), "example.com/shiny, which has no room"},
				{"in a test", rooms(room("./gossip").tested("github.com/stretchr/testify/require")), "testify/require, which has no room"},
			},
		},
		{
			name: "5 test libraries stay in tests", check: checkTestLibraries,
			why: "every user compiles a test library that code outside tests imports",
			breaches: []breach{
				{"goleak", rooms(room("./election", "go.uber.org/goleak")), "./election must not import go.uber.org/goleak"},
				{"a tool of tests in a simulated world", rooms(room(lab+"/sim", "go.uber.org/goleak")), lab + "/sim must not import"},
			},
		},
		{
			name: "5 rooms for tests stay in tests", check: checkTestRooms,
			why: "a package named …test is for tests: the laboratory may use it, code that users run must not",
			breaches: []breach{
				{"pgtest", rooms(room("./pending/pgstore", "./internal/pg/pgtest")), "./pending/pgstore must not import ./internal/pg/pgtest"},
				{"in the product", rooms(room("./cmd/conch/internal/web", "./chain/chaintest")), "./cmd/conch/internal/web must not import ./chain/chaintest"},
			},
		},
		{
			name: "5 fence is stdlib and x/sys", check: checkFence,
			why:      "every actor imports fence, so fence must cost nothing to import",
			breaches: []breach{{"x/sync", rooms(room("./fence", "golang.org/x/sync/errgroup")), "./fence must not import golang.org/x/sync/errgroup"}},
		},
	}
}

// isLibrary reports whether the path is of third-party code, whose first element has a dot.
func isLibrary(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !isHouse(importPath) && strings.Contains(first, ".")
}

func findLibrary(importPath string) (library, bool) {
	for _, l := range libraries {
		if inside(importPath, l.prefix) {
			return l, true
		}
	}
	return library{}, false
}

// houses reports whether a folder of the house may import the library.
func (l library) houses(pkgPath string) bool {
	parts := strings.Split(strings.TrimPrefix(pkgPath, "./"), "/")
	return slices.ContainsFunc(l.rooms, func(pattern string) bool {
		depth := strings.Count(pattern, "/") + 1
		if depth > len(parts) {
			return false
		}
		ok, err := path.Match(pattern, strings.Join(parts[:depth], "/"))
		return ok && err == nil
	})
}

// checkLibraries checks direct and indirect imports of the library. In cmd it checks only
// direct ones: the binary compiles everything. Direct ones come first: reach returns one
// path of many, and an excused path must not hide a direct import.
func checkLibraries(h house) (complaints []string) {
	for _, p := range h.packages {
		if isTestRoom(p.path) {
			continue
		}
		for _, l := range libraries {
			if l.tests || l.houses(p.path) {
				continue
			}
			wanted := func(to string) bool { return inside(to, l.prefix) }
			if at := slices.IndexFunc(p.imports, wanted); at >= 0 {
				complaints = append(complaints, fmt.Sprintf("%s must not reach %s", p.path, p.imports[at]))
			} else if found, via := h.reach(p.path, wanted); found != "" && belowCmd(p.path) && !l.travels {
				complaints = append(complaints, fmt.Sprintf("%s must not reach %s%s", p.path, found, by(via)))
			}
		}
	}
	return complaints
}

func belowCmd(pkgPath string) bool {
	floor, _ := floorOf(pkgPath)
	return floor <= wingFloor
}

func checkKnown(h house) (complaints []string) {
	for _, p := range h.packages {
		for _, to := range slices.Concat(p.imports, p.testImports) {
			if _, known := findLibrary(to); isLibrary(to) && !known {
				complaints = append(complaints, fmt.Sprintf("%s imports %s, which has no room", p.path, to))
			}
		}
	}
	return complaints
}

func checkTestLibraries(h house) (complaints []string) {
	for _, p := range h.packages {
		for _, to := range p.imports {
			if l, known := findLibrary(to); known && l.tests && !isTestRoom(p.path) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

func checkTestRooms(h house) (complaints []string) {
	for _, p := range h.packages {
		if isTestRoom(p.path) || inside(p.path, lab) {
			continue
		}
		for _, to := range p.imports {
			if isHouse(to) && isTestRoom(to) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

func checkFence(h house) (complaints []string) {
	for _, p := range h.packages {
		if !inside(p.path, "./fence") {
			continue
		}
		for _, to := range p.imports {
			_, known := findLibrary(to)
			if isLibrary(to) && known && !inside(to, "golang.org/x/sys") && fenceOnly(to) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

// fenceOnly reports whether every other room may import the library. checkLibraries reports
// the others.
func fenceOnly(importPath string) bool {
	l, _ := findLibrary(importPath)
	return slices.Contains(l.rooms, "*")
}
