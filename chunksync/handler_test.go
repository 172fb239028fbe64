package chunksync

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
)

// Every request gets an answer, and every refusal is a problem document and changes nothing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const term = "01000000-0000-0000-0000-000000000000"
	const tenure = `"reign":{"epoch":5,"term":"` + term + `"}`
	const other = `"reign":{"epoch":5,"term":"02000000-0000-0000-0000-000000000000"}`
	const late = `"reign":{"epoch":4,"term":"` + term + `"}`
	n := newTeam(t, 1, nil).nodes[0]
	if _, err := n.store.raise(Tenure{5, fence.Term{1}}, "first"); err != nil {
		t.Fatal(err)
	}
	offered, unknown := hashOf([]byte("x")), hashOf([]byte("y"))
	offering := func(tenure, files string) string {
		return `{"holder":"a","catalog":{` + tenure + `,"seq":0,"files":{` + files + `}}}`
	}
	file := `"f":{"size":1,"chunks":["` + offered.String() + `"]}`
	for _, c := range []struct {
		name, ask, body, epoch string
		status                 int
		says                   string
	}{
		{"nothing there", "GET /", "", "", 404, "no such route"},
		{"another method", "DELETE /catalog", "", "", 404, "no such route"},
		{"no JSON", "POST /promise", "{", "", 400, "cannot be decoded"},
		{"an unknown field", "POST /promise", `{"rein":1}`, "", 400, "unknown field"},
		{"no term", "POST /promise", `{"reign":{"epoch":1,"term":"x"}}`, "", 400, "not a term"},
		{"an epoch below 0", "POST /promise", `{"reign":{"epoch":-1,"term":"` + term + `"}}`, "", 400, "below 0"},
		{"an epoch of many digits", "POST /promise", `{"reign":{"epoch":1e99,"term":"` + term + `"}}`, "", 400, "epoch"},
		{"a long promise", "POST /promise", strings.Repeat(" ", maxPromise+1), "", 413, "more than 4096 bytes"},
		{"a long name", "POST /promise", `{` + tenure + `,"holder":"` + strings.Repeat("x", 300) + `"}`, "", 400, "holder"},
		{"two promises", "POST /promise", `{` + tenure + `,"holder":"first"}{}`, "", 400, "data follows"},
		{"a brace after a promise", "POST /promise", `{` + tenure + `,"holder":"first"}}`, "", 400, "data follows"},
		{"a stale promise", "POST /promise", `{` + late + `,"holder":"b"}`, "", 409, `"holder":"first"`},
		{"another term", "POST /promise", `{` + other + `,"holder":"b"}`, "", 409, "stale"},
		{"a promise", "POST /promise", `{` + tenure + `,"holder":"first"}`, "", 200, `"id":"n1"`},
		{"no catalog", "POST /catalog", `{"holder":"a"}`, "", 400, "not a catalog"},
		{"a list for a catalog", "POST /catalog", `{"holder":"a","catalog":[]}`, "", 400, "not a catalog"},
		{"a seq below 0", "POST /catalog", strings.Replace(offering(tenure, ""), `"seq":0`, `"seq":-1`, 1), "", 400, "below 0"},
		{"a stale offer", "POST /catalog", offering(late, ""), "", 409, "stale"},
		{"another term's offer", "POST /catalog", offering(other, ""), "", 409, "stale"},
		{"a name with ..", "POST /catalog", offering(tenure, `"../x":{"size":0,"chunks":[]}`), "", 400, "the name"},
		{"an absolute name", "POST /catalog", offering(tenure, `"/etc/passwd":{"size":0,"chunks":[]}`), "", 400, "the name"},
		{"a size below 0", "POST /catalog", offering(tenure, `"f":{"size":-1,"chunks":[]}`), "", 400, "-1 bytes"},
		{"too few chunks", "POST /catalog", offering(tenure, `"f":{"size":1048577,"chunks":["`+offered.String()+`"]}`), "", 400, "1 chunks"},
		{"a chunk's name with ..", "POST /catalog", offering(tenure, `"f":{"size":1,"chunks":["../../x"]}`), "", 400, "not a chunk's hash"},
		{"upper case", "POST /catalog", offering(tenure, `"f":{"size":1,"chunks":["`+strings.ToUpper(offered.String())+`"]}`), "", 400, "not a chunk's hash"},
		{"an offer", "POST /catalog", offering(tenure, file), "", 200, `"missing":["` + offered.String() + `"]`},
		{"no epoch", "PUT /chunks/" + offered.String(), "x", "", 400, "Conch-Epoch"},
		{"a path for a hash", "PUT /chunks/..%2Fpromise.json", "x", "5", 400, "not a chunk's hash"},
		{"a stale chunk", "PUT /chunks/" + offered.String(), "x", "4", 409, "stale"},
		{"a chunk of a leader that offered nothing", "PUT /chunks/" + offered.String(), "x", "6", 412, "offered"},
		{"a chunk that was not offered", "PUT /chunks/" + unknown.String(), "y", "5", 412, "offered"},
		{"other bytes", "PUT /chunks/" + offered.String(), "z", "5", 422, "does not match"},
		{"a chunk that is too long", "PUT /chunks/" + offered.String(), strings.Repeat("x", ChunkSize+1), "5", 413, "more than 1048576"},
		{"a chunk that is not there", "GET /chunks/" + unknown.String(), "", "", 404, "disk"},
		{"a read of a path", "GET /chunks/..%2Fcatalog.json", "", "", 400, "not a chunk's hash"},
		{"the catalog is as it was", "GET /catalog", "", "", 200, `"files":null`},
		{"the chunk", "PUT /chunks/" + offered.String(), "x", "5", 204, ""},
		{"the commit", "POST /catalog", offering(tenure, file), "", 200, `"held":{"epoch":5,"seq":0}`},
		{"the commit again", "POST /catalog", offering(tenure, file), "", 200, `"held":{"epoch":5,"seq":0}`},
		{"reads", "GET /chunks/" + offered.String(), "", "", 200, "x"},
	} {
		method, path, _ := strings.Cut(c.ask, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer secret")
		if c.epoch != "" {
			r.Header.Set(epochHeader, c.epoch)
			r.Header.Set(termHeader, term)
		}
		w := httptest.NewRecorder()
		n.m.Handler().ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: got status %d, %s\nwant %d with %q", c.name, w.Code, w.Body, c.status, c.says)
		}
		var p problem
		if w.Code >= 400 && (w.Header().Get("Content-Type") != problemType || json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Status != w.Code || p.Title == "") {
			t.Errorf("%s: got %s, want a problem document", c.name, w.Body)
		}
		r.Header.Set("Authorization", "Bearer wrong")
		w = httptest.NewRecorder()
		n.m.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s, with a wrong token: got status %d, want 401", c.name, w.Code)
		}
	}
}

// A catalog with data after it is refused, whether that is JSON or not.
func TestDataAfterACatalog(t *testing.T) {
	t.Parallel()
	text, err := catalog{Tenure: Tenure{1, fence.Term{1}}, Seq: 3}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for tail, good := range map[string]bool{"": true, "\n": true, " \t\r\n": true, "x": false, "}": false, "]": false, "\x00\x00": false, "{}": false, ",": false} {
		if _, err := parseCatalog([]byte(string(text) + tail)); (err == nil) != good {
			t.Errorf("a catalog with %q after it: got %v, want it accepted: %v", tail, err, good)
		}
	}
}

// A parsed catalog is the same after it is encoded and parsed again.
func FuzzCatalog(f *testing.F) {
	f.Add([]byte(`{"reign":{"epoch":1,"term":"01000000-0000-0000-0000-000000000000"},"seq":3,"files":{"a/b":{"size":0,"chunks":[]}}}`))
	f.Add([]byte(`{"files":{"..":{}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := parseCatalog(in)
		if err != nil {
			return
		}
		out, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseCatalog(out)
		if err != nil || again.Version() != c.Version() || len(again.Files) != len(c.Files) {
			t.Errorf("catalog %s, encoded as %s and parsed: got %+v, %v, want the same", in, out, again, err)
		}
		for name := range c.Files {
			if checkName(name) != nil {
				t.Errorf("the catalog has the name %q, which checkName refuses", name)
			}
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"a": true, "a/b c/d.txt": true, "ü/日本": true, "...": true, strings.Repeat("x", maxName): true, ".hidden": true,
		"": false, "/a": false, "a/": false, "a//b": false, "..": false, "a/../b": false, ".": false, "a/./b": false,
		"a\x00b": false, "a\nb": false, "\xff": false, `a\b`: false, strings.Repeat("x", maxName+1): false,
	} {
		var bad *NameError
		if err := checkName(name); (err == nil) != good || err != nil && !errors.As(err, &bad) {
			t.Errorf("checkName(%q): got %v, want it accepted: %v", name, err, good)
		}
	}
}

// An upload that breaks off or is too large stores no file and leaves no chunk.
func TestHalfAnUpload(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	n.m.cfg.MaxFile = 3 * ChunkSize
	n.lead(1)
	n.mustPut("f", []byte("whole"), 0)
	broken := &breaks{left: ChunkSize + 10}
	if _, err := n.m.Put(t.Context(), "f", broken, 0); !errors.Is(err, errEnough) {
		t.Errorf("an upload that breaks off: got %v, want %v", err, errEnough)
	}
	if _, err := n.m.Put(t.Context(), "f", bytes.NewReader(bytesOf(4, 3*ChunkSize+1)), 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an upload that is too large: got %v, want ErrTooLarge", err)
	}
	if _, err := n.m.Put(t.Context(), "a/../b", bytes.NewReader(nil), 0); err == nil {
		t.Error("a name with .. is accepted")
	}
	if !n.has("f", []byte("whole")) || n.chunkCount() != 1 {
		t.Errorf("the file is changed, or the store has %d chunks, want 1", n.chunkCount())
	}
	n.mustPut("g", bytesOf(5, 3*ChunkSize), 0)
	if len(n.store.have) != 4 {
		t.Errorf("the store has %d chunks, want 4", len(n.store.have))
	}
	before := n.m.Status().Version
	n.mustPut("f", []byte("whole"), 0)
	if n.m.Status().Version != before {
		t.Error("putting the same content again makes a new version")
	}
}

// breaks is a reader that fails after left bytes, as a body of net/http does when its connection breaks.
type breaks struct{ left int }

func (b *breaks) Read(to []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.Join(errEnough, context.Canceled)
	}
	n := min(len(to), b.left)
	b.left -= n
	return n, nil
}

// S18: a standalone node (no peers, epoch 0) has its files after a restart.
func TestStandalone(t *testing.T) {
	t.Parallel()
	n := newTeam(t, 1, nil).nodes[0]
	for i := range 2 {
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = n.m.Lead(ctx, fence.Standalone("s", "n1"), fence.Token{Scope: "s", Holder: "n1"})
		}()
		n.mustPut("f", []byte{byte(i)}, AsConfigured)
		n.mustPut("g", []byte{byte(i)}, AsConfigured)
		stop()
		ends(t, over)
		_ = n.store.Close()
		n.start()
		if !n.has("f", []byte{byte(i)}) || !n.has("g", []byte{byte(i)}) {
			t.Errorf("round %d: a file is missing after the restart", i)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	err := Config{Peers: map[string]string{"": "http://x", "a": "ftp://SECRET@x"}, Copies: new(3), Parallel: -1, Repair: -1}.Validate()
	for _, part := range []string{"no ID", "no scope", "no store", "a peer has no ID", `peer "a"`, "3 copies", "Parallel", "durations"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got the faults %v\nwant one with %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the faults repeat a secret: %v", err)
	}
	// The leader and Copies peers are a majority, and it meets the nodes that answer a successor.
	for nodes := 1; nodes <= 9; nodes++ {
		peers := map[string]string{}
		for i := range nodes - 1 {
			peers[string(rune('a'+i))] = "http://x"
		}
		set := Config{Peers: peers}.settings()
		if with := set.Copies + 1; 2*with <= nodes || set.Need()+1+with <= nodes {
			t.Errorf("%d nodes: a write is on %d and a successor has the answers of %d, want a majority and an overlap", nodes, with, set.Need()+1)
		}
	}
}

// Which leader a node promises after which, and which versions are fresh.
func TestPromise(t *testing.T) {
	t.Parallel()
	to := func(epoch int64, term byte) Tenure { return Tenure{epoch, fence.Term{term}} }
	for _, c := range []struct {
		promised, asks Tenure
		agrees         bool
	}{
		{Tenure{}, Tenure{}, true}, {Tenure{}, to(0, 1), true}, {Tenure{}, to(1, 1), true},
		{to(5, 1), to(5, 1), true}, {to(5, 1), to(6, 1), true}, {to(5, 1), to(6, 2), true},
		{to(5, 1), to(5, 2), false}, {to(5, 2), to(5, 1), false}, {to(5, 1), to(4, 1), false}, {to(5, 1), Tenure{}, false}, {to(0, 1), Tenure{}, false},
	} {
		p, err := promise{Tenure: c.promised, Holder: "a", Held: Version{3, 3}}.raise(c.asks, "b")
		want := promise{Tenure: c.promised, Holder: "a", Held: Version{3, 3}}
		if c.agrees {
			want.Tenure, want.Holder = c.asks, "b"
		}
		if (err == nil) != c.agrees || err != nil && !errors.Is(err, fence.ErrStale) || p != want {
			t.Errorf("%v asks after %v: got %+v, %v, want %+v", c.asks, c.promised, p, err, want)
		}
	}
	for v, fresh := range map[Version]bool{{5, 3}: false, {5, 2}: false, {4, 9}: false, {5, 4}: true, {6, 0}: true} {
		if (promise{Held: Version{5, 3}}).fresh(v) != fresh {
			t.Errorf("fresh(%s) after 5.3: got %v, want %v", v, !fresh, fresh)
		}
	}
}

// Pauses double up to RetryMax, and jitter spreads them over their upper half.
func TestPauses(t *testing.T) {
	t.Parallel()
	set := settings{Peers: []string{"a"}, RetryMin: time.Second, RetryMax: 5 * time.Second}
	for jitter, want := range map[float64][]time.Duration{
		0:   {500 * time.Millisecond, time.Second, 2 * time.Second, 2500 * time.Millisecond, 2500 * time.Millisecond},
		0.5: {750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 3750 * time.Millisecond},
		1:   {time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		m := newMachine(set)
		now := fence.Instant(time.Hour)
		m.Step(now, begin{})
		m.Step(now, adopted{Version{1, 0}})
		for i, pause := range want {
			m.Step(now, failed{Peer: "a", Jitter: jitter})
			if got := m.Next().Sub(now); got != pause {
				t.Errorf("jitter %v, failure %d: got a pause of %s, want %s", jitter, i+1, got, pause)
			}
			if early := m.Step(now.Add(pause-1), tick{}); len(early) != 0 {
				t.Errorf("jitter %v: got %v before the pause has ended, want nothing", jitter, early)
			}
			if now = now.Add(pause); len(m.Step(now, tick{})) != 1 {
				t.Errorf("jitter %v, failure %d: the peer is not asked again after the pause", jitter, i+1)
			}
		}
		for range 100 { // the shift must not overflow
			m.Step(now, failed{Peer: "a", Jitter: jitter})
			if got := m.Next().Sub(now); got > set.RetryMax || got < set.RetryMax/2 {
				t.Fatalf("jitter %v: got a pause of %s, want half of RetryMax to RetryMax", jitter, got)
			}
			now = m.Next()
			m.Step(now, tick{})
		}
	}
}
