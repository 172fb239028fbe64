//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// filer is a node with files, behind a proxy that can hold chunks.
type filer struct {
	*daemon
	line *httptest.Server
	api  atomic.Pointer[url.URL]

	mu    sync.Mutex
	held  chan struct{} // if set, chunks that have left the leader wait for its closing
	sent  int           // chunks that came since held was set
	after int           // how many chunks pass first
}

// holds lets some more chunks through to this node, and holds the others until release.
func (f *filer) holds(after int) (release func()) {
	held := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.sent, f.after = held, 0, after
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(held)
		f.held = nil
	})
}

func (f *filer) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

func (f *filer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body) // the chunk has left the leader, whatever follows
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.mu.Lock()
		f.sent++
		held := f.held
		if f.sent <= f.after {
			held = nil
		}
		f.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-f.over: // the receiver's process has ended
			}
		}
	}
	to := f.api.Load()
	if to == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, ErrorLog: nil, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
		w.WriteHeader(http.StatusBadGateway)
	}}
	proxy.ServeHTTP(w, r)
}

// begin starts the node's process, for the first time or again.
func (f *filer) begin() {
	f.t.Helper()
	before := 0
	if f.cmd != nil {
		before = f.count("node started")
	}
	f.start()
	pgtest.Eventually(f.t, patience, f.id+" has started", func() bool { return f.count("node started") > before })
	to, err := url.Parse("http://" + f.value("serving the API", "address"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.api.Store(to)
}

// filers starts three nodes with files of the scope "data".
func filers(t *testing.T) []*filer {
	t.Helper()
	db := migrated(t)
	all := make([]*filer, 3)
	peers := make([]string, len(all))
	for i := range all {
		all[i] = &filer{}
		all[i].line = httptest.NewServer(all[i])
		t.Cleanup(all[i].line.Close)
		peers[i] = fmt.Sprintf("n%d = %q", i+1, all[i].line.URL)
	}
	for i, f := range all {
		f.daemon = prepareDaemon(t, fmt.Sprintf("n%d", i+1), db.URL, "listen = \"127.0.0.1:0\"\ntoken_file = \"token\"\n[election]\nlease = \"3s\"\n"+
			"[[files]]\nscope = \"data\"\ndir = \"files\"\ntoken_file = \"token\"\nrepair_interval = \"300ms\"\npeers = { "+strings.Join(peers, ", ")+" }\n")
		f.hides()
		f.begin()
	}
	return all
}

const filesAPI = "/v1/files/data"

const filesSecret = "files-0123456789abcdef-0123456789abcdef"

// hides writes the token into the node's folder.
func (f *filer) hides() {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "token"), []byte("# of the nodes\nnodes "+filesSecret+"\n"), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// metrics returns the node's metrics, or nothing while it does not answer.
func (f *filer) metrics() (text string) {
	f.ask(http.MethodGet, "/metrics", nil, func(res *http.Response) {
		all, _ := io.ReadAll(res.Body)
		text = string(all)
	})
	return text
}

type listing struct {
	Version struct{ Epoch, Seq int64 }
	Leading bool
	Holder  string
	AsOf    string `json:"as_of"`
}

// lists returns the node's list of files, or a zero one while it does not answer.
func (f *filer) lists() (out listing) {
	f.ask(http.MethodGet, filesAPI, nil, func(res *http.Response) { _ = json.NewDecoder(res.Body).Decode(&out) })
	return out
}

// ask returns the status; 0 for no answer.
func (f *filer) ask(method, path string, body []byte, read func(*http.Response)) int {
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.api.Load().String()+path, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Close = true
	req.Header.Set("Authorization", "Bearer "+filesSecret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	if read != nil {
		read(res)
	}
	return res.StatusCode
}

// content returns a file's content; nil while there is none.
func (f *filer) content(name string) (content []byte) {
	f.ask(http.MethodGet, filesAPI+name, nil, func(res *http.Response) {
		if text, err := io.ReadAll(res.Body); err == nil && res.StatusCode == http.StatusOK && res.Header.Get("Conch-As-Of") != "" {
			content = text
		}
	})
	return content
}

func (f *filer) comesToHave(name string, want []byte) {
	f.t.Helper()
	pgtest.Eventually(f.t, patience, f.id+" has "+name, func() bool { return bytes.Equal(f.content(name), want) })
}

// leaderOf waits until a node accepts writes.
func leaderOf(t *testing.T, all ...*filer) (leader *filer, others []*filer) {
	t.Helper()
	pgtest.Eventually(t, patience, "one of them leads the files", func() bool {
		for i, f := range all {
			if f.lists().Leading {
				leader, others = f, append(append([]*filer{}, all[:i]...), all[i+1:]...)
				return true
			}
		}
		return false
	})
	return leader, others
}

func (f *filer) puts(name string, content []byte) {
	f.t.Helper()
	pgtest.Eventually(f.t, patience, f.id+" takes "+name, func() bool { return f.ask(http.MethodPut, filesAPI+name, content, nil) == http.StatusOK })
}

func fileOfBytes(seed byte, size int) []byte {
	out := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(out)
	return out
}

// killedHalfway has the leader push a large file and kills it when the push is half done. A machine
// with no time to spare may depose the leader first: then the next leader tries.
func killedHalfway(t *testing.T, old []byte, all []*filer) (leader *filer, others []*filer, release func(), large []byte) {
	t.Helper()
	for try := range byte(5) {
		leader, others = leaderOf(t, all...)
		leader.puts("/a/big", old)
		for _, f := range all {
			f.comesToHave("/a/big", old)
		}
		large = fileOfBytes(10+try, 7<<20+5)
		first, second := others[0].holds(5), others[1].holds(3)
		release = func() { first(); second() }
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if code := leader.ask(http.MethodPut, filesAPI+"/a/big", large, nil); code == http.StatusOK {
				t.Error("the write is acknowledged, but no other node has the file")
			}
		}()
		half := false
		pgtest.Eventually(t, patience, "the push is half done, or the leader is deposed", func() bool {
			half = others[0].seen() > 5 && others[1].seen() > 3 && bytes.Equal(leader.content("/a/big"), large)
			select {
			case <-ended:
				return true
			default:
				return half
			}
		})
		if half {
			leader.stop(syscall.SIGKILL)
			<-ended
			return leader, others, release, large
		}
		release()
	}
	t.Fatal("five leaders were deposed before their push was half done")
	return nil, nil, nil, nil
}

// S22: the leader is killed in the middle of a push. Every reader gets the whole old file or the
// whole new one. The successor goes on, and the old leader, the only one with the new file, comes
// back as a follower.
func TestTheLeaderOfFilesIsKilled(t *testing.T) {
	t.Parallel()
	all := filers(t)
	leader, others := leaderOf(t, all...)
	old := fileOfBytes(1, 1<<20+17)
	leader.puts("/a/big", old)
	for _, f := range all {
		f.comesToHave("/a/big", old)
	}
	follower := others[0]
	follower.ask(http.MethodPut, filesAPI+"/a/big", []byte("x"), func(res *http.Response) {
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusConflict || !strings.Contains(string(text), `"holder":"`+leader.id+`"`) {
			t.Errorf("a write to a follower: status %d, body %s; want 409 and the leader as holder", res.StatusCode, text)
		}
	})
	for _, path := range []string{"/v1/files/data", "/v1/files/data/a/big", "/v1/sync/data/catalog"} {
		if code := status(t, follower.api.Load().String()+path, ""); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: status %d, want 401", path, code)
		}
	}
	leader, others, release, large := killedHalfway(t, old, all)
	for _, f := range others {
		if !bytes.Equal(f.content("/a/big"), old) {
			t.Errorf("%s does not have the old file, want it until the push is complete", f.id)
		}
	}
	release()
	successor, rest := leaderOf(t, others...)
	if got := successor.content("/a/big"); !bytes.Equal(got, old) && !bytes.Equal(got, large) {
		t.Errorf("the successor serves %d bytes, want the old file or the new one", len(got))
	}
	newest := fileOfBytes(3, 2<<20)
	successor.puts("/a/big", newest)
	lags := fmt.Sprintf("conch_files_behind{peer=%q,scope=%q} ", leader.id, "data")
	if text := successor.metrics(); !strings.Contains(text, lags+"1\n") {
		t.Errorf("the metrics do not show that the dead node lags: %s", text)
	}
	rest[0].comesToHave("/a/big", newest)
	leader.begin()
	leader.comesToHave("/a/big", newest)
	pgtest.Eventually(t, patience, "the old leader has caught up", func() bool { return strings.Contains(successor.metrics(), lags+"0\n") })
	now := successor.lists()
	if mine := leader.lists(); mine.Version != now.Version || mine.Leading || mine.Holder != successor.id || mine.AsOf == "" {
		t.Errorf("the old leader came back with %+v, the leader has %+v; want the same version and a follower", mine, now)
	}
}

// S22, S15: the leader is stopped while it pushes, and wakes after its successor has gone on.
// Followers refuse what it still sends, and it follows.
func TestADeposedLeaderOfFilesIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	all := filers(t)
	leader, others := leaderOf(t, all...)
	leader.puts("/f", []byte("first"))
	for _, f := range all {
		f.comesToHave("/f", []byte("first"))
	}
	release, releaseToo := others[0].holds(1), others[1].holds(1)
	var writer sync.WaitGroup
	writer.Go(func() {
		if code := leader.ask(http.MethodPut, filesAPI+"/f", fileOfBytes(4, 4<<20), nil); code == http.StatusOK {
			t.Error("a deposed leader's write is acknowledged")
		}
	})
	pgtest.Eventually(t, patience, "it pushes", func() bool { return others[0].seen() > 1 && others[1].seen() > 1 })
	if err := leader.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	successor, rest := leaderOf(t, others...)
	release() // now the held chunks arrive, from an epoch that is over
	releaseToo()
	successor.puts("/f", []byte("second"))
	rest[0].comesToHave("/f", []byte("second"))
	pgtest.Eventually(t, patience, "what is stale is refused", func() bool {
		return others[0].count("a deposed leader's files are refused") > 0 && others[1].count("a deposed leader's files are refused") > 0
	})
	if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	writer.Wait()
	for _, f := range all {
		f.comesToHave("/f", []byte("second"))
	}
}

// S18, S22: a standalone node keeps files over a restart. A reload adds or removes a scope, and
// moves none.
func TestFilesOfANodeAlone(t *testing.T) {
	t.Parallel()
	const alone = "[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ntoken_file = \"token\"\n"
	const some = "[[files]]\nscope = \"data\"\ndir = \"files\"\n"
	f := &filer{daemon: prepareDaemon(t, "n1", "", "")}
	f.write(alone + some)
	f.hides()
	f.begin()
	f.puts("/f", []byte("first"))
	f.comesToHave("/f", []byte("first"))
	f.stop(syscall.SIGKILL)
	f.begin()
	f.comesToHave("/f", []byte("first"))
	f.puts("/f", []byte("second"))
	f.comesToHave("/f", []byte("second"))

	f.write(alone + some + "[[files]]\nscope = \"more\"\ndir = \"more\"\n")
	conch(t, "reload", "--config", f.file).done(t)
	f.says("leading files", "scope", "more")
	more := f.api.Load().String() + "/v1/files/more"
	if code := status(t, more, filesSecret); code != http.StatusOK {
		t.Errorf("a scope that was added: status %d, want 200", code)
	}
	f.write(alone + some)
	conch(t, "reload", "--config", f.file).done(t)
	if code := status(t, more, filesSecret); code != http.StatusNotFound {
		t.Errorf("a scope that was removed: status %d, want 404", code)
	}
	f.write(alone + strings.Replace(some, "\"files\"", "\"elsewhere\"", 1))
	conch(t, "reload", "--config", f.file).refused(t, 1, "cannot move")
	f.comesToHave("/f", []byte("second"))
	if code := f.ask(http.MethodDelete, filesAPI+"/f", nil, nil); code != http.StatusOK || f.content("/f") != nil {
		t.Errorf("removing a file: status %d, want 200 and no content after it", code)
	}
	second := prepareDaemon(t, "n2", "", "")
	second.write("[node]\nstandalone = true\nlisten = \"off\"\n" + strings.Replace(some, "\"files\"", "\""+f.dir+"/files\"", 1))
	conch(t, "node", "--config", second.file, "--log-level", "error").refused(t, 1, "used by another process")
}
