package ui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// services is what a stand-in for a node says of its contracts, its logs and the overlay. Each answer is compared with the documents of
// the services.
type services struct {
	t       *testing.T
	spec    *webtest.Spec
	alone   bool              // the node has no database
	mute    bool              // it answers nothing, as a host that was cut off
	silent  []chan string     // the streams of that host
	answers map[string]any    // by path; a refusal is one too
	asked   map[string]object // the bodies of what was to be done, by method and path
}

type refusal struct {
	status       int
	name, detail string
}

// serving is a stand-in that has services besides.
func serving(t *testing.T, below string, parts ...string) *node {
	t.Helper()
	n := newNode(t, below)
	var documents []string
	for _, one := range []string{"contracts", "logs", "gossip"} {
		text, err := os.ReadFile(filepath.Join("..", "service", one, "openapi.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	n.mu.Lock()
	n.parts = parts
	n.services = &services{t: t, spec: webtest.Read(t, documents...), answers: map[string]any{}, asked: map[string]object{}}
	n.mu.Unlock()
	return n
}

// says has a path answered.
func (n *node) says(path string, v any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.services.answers[path] = v
}

func (n *node) mute(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.services.mute = on
	if on { // the stream falls silent too
		for one := range n.open {
			n.services.silent = append(n.services.silent, one)
			delete(n.open, one)
		}
		return
	}
	for _, one := range n.services.silent { // and its client comes back
		close(one)
	}
	n.services.silent = nil
}

func (n *node) service(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	s := n.services
	if s == nil {
		n.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	mute, found := s.mute, s.answers[r.URL.Path]
	if r.Method == http.MethodPost {
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.asked[r.Method+" "+r.URL.Path] = body
		found = s.answers[r.Method+" "+r.URL.Path]
	}
	n.mu.Unlock()
	if mute {
		select {
		case <-r.Context().Done():
		case <-n.ended:
		}
		return
	}
	out := httptest.NewRecorder()
	switch v := found.(type) {
	case nil:
		refuse(out, http.StatusNotFound, "there is nothing here")
	case refusal:
		out.Header().Set("Content-Type", "application/problem+json")
		out.WriteHeader(v.status)
		_, _ = out.Write(encoded(object{"type": "urn:conch:problem:" + v.name, "title": v.name, "status": v.status, "detail": v.detail}))
	default:
		if r.Method == http.MethodPost {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(http.StatusAccepted)
			_, _ = out.Write(encoded(v))
			break
		}
		answer(out, v)
	}
	if found != nil {
		n.mu.Lock()
		s.spec.Verify(s.t, r, out)
		n.mu.Unlock()
	}
	w.Header().Set("Content-Type", out.Header().Get("Content-Type"))
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes())
}

func stamp(ago time.Duration) string {
	return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z")
}

const (
	address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
	second  = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
	first   = "00000000000000070000000000000001"
	hash    = "0xab34000000000000000000000000000000000000000000000000000000000012"
)

// contract is one that goes on.
func contract(at string) object {
	member := func(name, account string, final, ago int, self bool) object {
		m := object{"name": name, "account": account, "may_coordinate": name != "auditor", "this_node": self, "final": final, "heard_at": nil, "differs": false, "signs_wrongly": false, "lands_nothing": false}
		if !self {
			m["heard_at"] = stamp(time.Duration(ago) * time.Second)
		}
		return m
	}
	return object{
		"as_of": stamp(0), "address": at, "chain": "besu-main", "domain": "notes/1", "endorsements": 3, "head": 184_233, "final": 184_229, "range": 1842, "range_size": 100, "takes": 4,
		"coordinator": "north", "next_coordinator": "south", "order": []string{"north", "bank", "south", "west"}, "next_order": []string{"south", "west", "north", "bank"},
		"open": object{"accepted": 12, "dispatched": 5, "included": 2}, "coordinating": object{"assembling": 1, "endorsing": 4, "dispatched": 7}, "missing": 0, "landed": 8124,
		"skipped": object{}, "nudges": 3, "drained": false,
		"members": []object{
			member("bank", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 184_229, 0, true), member("north", "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", 184_229, 1, false),
			member("south", "0x90F79bf6EB2c4f870365E785982E1f101E93b906", 184_227, 2, false), member("west", "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65", 184_228, 1, false),
			member("auditor", "0x9965507D1a55bcC2695C58ba16FA37d819B0A4dc", 184_212, 95, false),
		},
	}
}

func intent(at, key, id, fate string, ago time.Duration) object {
	t := object{
		"id": id, "contract": at, "idempotency_key": key, "request": object{"pay": object{"to": "north", "amount": 12_500, "of": "EUR"}}, "fate": fate, "attempt": nil, "block": nil,
		"accepted_at": stamp(ago),
	}
	if fate == "confirmed" {
		t["attempt"], t["block"] = hash, 184_100
	}
	return t
}

// story is the first intent, with what happened to it.
func story() object {
	t := intent(address, "invoice 4711", first, "open", 44*time.Second)
	t["as_of"], t["why"] = stamp(0), "its block is not final yet"
	t["story"] = []object{
		{"at": stamp(43900 * time.Millisecond), "event": "row stored", "state": "waiting"},
		{"at": stamp(43800 * time.Millisecond), "event": "offered", "state": "delegated", "node": "south"},
		{"at": stamp(43100 * time.Millisecond), "event": "declined", "state": "waiting", "node": "south", "why": "the range has turned", "times": 4},
		{"at": stamp(42 * time.Second), "event": "acknowledged", "state": "accepted", "node": "north"},
		{"at": stamp(39 * time.Second), "event": "grant stored", "state": "granted", "node": "north", "attempt": hash},
		{"at": stamp(38 * time.Second), "event": "handed", "state": "dispatched", "node": "north", "attempt": hash, "endorsers": []string{"bank", "north", "south"}},
		{"at": stamp(31 * time.Second), "event": "landed", "state": "included", "attempt": hash, "block": 184_231},
	}
	return t
}

func log(namespace string) object {
	member := func(name, key string, store int, heard, stored int) object {
		return object{"name": name, "key": "sha256:" + strings.Repeat(key, 64), "store": store, "leaving": false, "heard_ms": heard, "stored": stored}
	}
	return object{
		"as_of": stamp(0), "namespace": namespace, "state": "running", "id": strings.Repeat("3f", 32), "machine": "kv/1", "lease_ms": 3000, "self": "node-2", "store": 2,
		"position": object{"index": 40_218, "hash": hash}, "first": 1, "leader": "node-2", "role": "leader", "leads": true, "decides": true, "term": 17,
		"members": []object{member("node-1", "a", 1, 40, 40_221), member("node-2", "b", 2, 0, 40_221), member("node-3", "c", 3, 120, 40_214)}, "members_at": 12, "waiting": 3,
		"copy": object{"known": 40_218, "behind": 0, "gap_ms": 0, "fetching": false, "forks": 0, "denied": 0},
	}
}

func entries() object {
	var all []object
	for i := range 20 {
		e := object{
			"index": 40_199 + i, "term": 17, "hash": hash, "prev": hash, "state": hash, "kind": "goal", "leader": "node-2", "at": stamp(time.Duration(20-i) * time.Second),
			"goal_id": fmt.Sprintf("rollout-%d", i), "goal": object{"set": object{"flags/checkout": i%2 == 0}},
		}
		switch i {
		case 3:
			e["kind"], e["members"] = "members", []string{"node-1", "node-2", "node-3"}
			delete(e, "goal")
		case 15:
			e["fault"] = "the value is not there any more"
		}
		all = append(all, e)
	}
	return object{"as_of": object{"index": 40_218, "hash": hash}, "first": 1, "entries": all}
}

func overlaid() object {
	key := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	namespace := func(name, leader string, leads bool) object {
		return object{
			"namespace": name, "policy": "reign", "leader": leader, "leader_fingerprint": key("a"), "leader_proven": true, "reign": 4, "since": stamp(3 * time.Hour), "leads": leads,
			"state": map[bool]string{true: "leading", false: "following"}[leads], "heard_ms": 140, "valid_ms": 1600, "changes": 2, "electors": []string{"node-1", "node-2", "node-3"},
		}
	}
	near := func(name, c string, elector bool) object {
		return object{"name": name, "fingerprint": key(c), "arcs": 2, "elector": elector, "differs": []string{}, "since": stamp(26 * time.Hour)}
	}
	return object{
		"as_of": stamp(0), "self": "node-2", "fingerprint": key("b"), "address": "node-2.example.net:7443", "namespaces": []object{namespace("default", "node-1", false), namespace("indexing", "node-2", true)},
		"neighbours": []object{near("node-1", "a", true), near("node-3", "c", true), near("edge-fra-04", "d", false), near("edge-par-11", "e", false)},
		"overlay":    object{"arcs": 6, "joining": false, "remembered": 9}, "contacts": []string{"node-1", "node-3"}, "unreached": []object{}, "twins": []object{}, "refused": object{}, "troubles": []object{},
		"news": []object{
			{"namespace": "default", "topic": "flag", "subject": "node-3", "subject_proven": true, "fingerprint": key("c"), "body": "Ymx1ZQ==", "age_ms": 4000},
			{"namespace": "default", "topic": "load", "subject": "edge-fra-04", "subject_proven": false, "fingerprint": key("d"), "body": "/wA=", "age_ms": 21_000},
		},
	}
}

// fare has all services be well, in trouble, or with nothing in them.
func (n *node) fare(is string) {
	n.mute(false)
	one, two, lasting, other, nodes := contract(address), contract(second), log("flags"), log("routes"), overlaid()
	list := []object{intent(address, "invoice 4711", first, "open", 44*time.Second), intent(address, "invoice 4710", "00000000000000070000000000000002", "confirmed", 3*time.Minute)}
	contracts, logs := []object{one, two}, []object{lasting, other}
	switch is {
	case "trouble":
		one["waits"] = `account "ops": no money: its balance is 0, and a transaction costs 0.0021 ETH`
		one["skipped"] = object{"missing": 4, "expired": 1}
		members := one["members"].([]object) //nolint:forcetypeassert // as it was made
		members[3]["differs"], members[2]["signs_wrongly"], members[4]["final"], members[4]["heard_at"] = true, true, nil, nil
		reverted := intent(address, "invoice 4709", "00000000000000070000000000000003", "reverted", 9*time.Minute)
		reverted["why"] = "the ledger has ended its grant: another attempt has spent what it would"
		list = append(list, reverted)
		lasting["copy"] = object{"known": 40_388, "behind": 170, "gap_ms": 9100, "fetching": false, "forks": 1, "denied": 3}
		lasting["advice"] = "node-3 has signed heads that the leader denies: either it lies, or its key is stolen, or a store was restored. `conch log verify flags` shows which copies differ"
		peers := lasting["members"].([]object) //nolint:forcetypeassert // as it was made
		peers[2]["heard_ms"], peers[2]["stored"], peers[0]["leaving"] = 41_000, 39_100, true
		other["leader"], other["role"], other["leads"] = "", "member", false
		delete(other, "leader")
		parted(nodes)
	case "empty":
		contracts, logs, list = []object{contract(address)}, []object{}, []object{}
		c := contracts[0]
		c["unread"], c["open"], c["coordinating"], c["order"], c["next_order"] = "nothing has happened in it, and it is read when something does", object{}, object{}, []string{}, []string{}
		c["final"], c["head"], c["range"], c["coordinator"], c["next_coordinator"], c["takes"], c["landed"] = nil, nil, nil, nil, nil, nil, 0
		nodes["namespaces"].([]object)[0]["electors"] = []string{} //nolint:forcetypeassert // as it was made
		nodes["neighbours"], nodes["news"], nodes["overlay"] = []object{}, []object{}, object{"arcs": 0, "joining": true, "remembered": 0}
	}
	n.says("/v1/contracts", object{"as_of": stamp(0), "contracts": contracts})
	for _, c := range contracts {
		n.says(fmt.Sprint("/v1/contracts/", c["address"]), c)
		n.says(fmt.Sprint("/v1/contracts/", c["address"], "/transactions"), object{"as_of": stamp(0), "transactions": list})
	}
	n.says("/v1/contracts/"+address+"/transactions/"+first, story())
	n.says("/v1/logs", object{"logs": logs})
	n.says("/v1/logs/flags/entries", entries())
	n.says("/v1/logs/routes/entries", entries())
	n.says("/v1/nodes", nodes)
}

// parted is a node that hears no majority of the electors.
func parted(nodes object) {
	first := nodes["namespaces"].([]object)[0] //nolint:forcetypeassert // as it was made
	first["leader"], first["leader_fingerprint"], first["since"], first["heard_ms"], first["state"] = nil, nil, nil, nil, "parted"
	first["unled_since"], first["majority_lost"], first["electors_silent"] = stamp(41*time.Second), stamp(41*time.Second), []string{"node-1", "node-3"}
	nodes["neighbours"].([]object)[2]["differs"] = []string{"electors", "round"} //nolint:forcetypeassert // as it was made
	nodes["unreached"] = []object{{"name": "node-1", "why": "unreachable", "since": stamp(41 * time.Second)}}
	nodes["twins"] = []object{{"name": "edge-par-11", "last_seen": stamp(2 * time.Minute), "over": true}}
	nodes["refused"] = object{"signature": 3, "flood": 41}
	nodes["troubles"] = []object{
		{"detail": "node-2 hears 1 of the 3 electors of default, itself counted, and a new leader needs 2: no majority since 2026-11-30 12:00:00 UTC; silent: node-1, node-3", "remedy": "start those nodes, or mend the network between them and this one", "grave": true},
		{"detail": "edge-fra-04 has other electors, round in [gossip] than node-2", "remedy": "correct one of both", "grave": false},
	}
}
