package files

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chunksync"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// cabinetOf makes a cabinet of one scope that logs to log.
func cabinetOf(t *testing.T, id string, log io.Writer, f Files) *cabinet {
	t.Helper()
	c := &cabinet{id: id, log: slog.New(slog.NewTextHandler(log, nil)), blocked: func(string) {}, drawers: map[string]*drawer{}}
	use, err := c.keep([]Files{f})
	if err != nil {
		t.Fatal(err)
	}
	use()
	t.Cleanup(c.close)
	return c
}

func textFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// S22: nodes push over TLS, verify the certificate, and send the first token of the file.
func TestFilesOverTLS(t *testing.T) {
	t.Parallel()
	const scope = "data/of x"
	follower := cabinetOf(t, "n2", io.Discard, Files{Scope: scope, Dir: t.TempDir()})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ours := strings.CutPrefix(r.URL.EscapedPath(), "/base/v1/sync/data%2Fof%20x")
		if !ours || r.Header.Get("Authorization") != "Bearer the-secret-of-all-the-nodes" {
			t.Errorf("got a request of %s with %q, want one below /base/v1/sync/ with the first token", r.URL.EscapedPath(), r.Header.Get("Authorization"))
		}
		r.URL.Path, r.URL.RawPath = path, ""
		follower.Peers(scope).ServeHTTP(w, r)
	}))
	defer server.Close()
	trusted := textFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	token := textFile(t, "# first\nnodes the-secret-of-all-the-nodes\nold another-one-of-before-that\n")
	for _, c := range []struct {
		name, ca string
		works    bool
		within   time.Duration // time limit of the leadership
	}{{"its certificate", trusted, true, 30 * time.Second}, {"the system's roots", "", false, 2 * time.Second}} {
		func() {
			f := Files{Scope: scope, Dir: t.TempDir(), Nodes: map[string]string{"n1": "http://127.0.0.1:1", "n2": server.URL + "/base/"}, TokenFile: token, CAFile: c.ca}
			leader := cabinetOf(t, "n1", io.Discard, f)
			m, err := leader.begin(f)
			if err != nil {
				t.Fatal(err)
			}
			gate, latch := fence.New(scope, nil)
			proof := fence.Token{Scope: scope, Holder: "n1", Epoch: 1}
			latch.Open(proof, 0, math.MaxInt64)
			ctx, stop := context.WithTimeout(t.Context(), c.within)
			defer stop()
			over := make(chan struct{})
			go func() { defer close(over); _ = m.Lead(ctx, gate, proof) }()
			pgtest.Eventually(t, 20*time.Second, "it leads", func() bool { return leader.Scope(scope).Catalog().Leading || !c.works && ctx.Err() != nil })
			written, err := leader.Scope(scope).Write(ctx, "a/b", strings.NewReader("hello"), -1)
			if c.works && (err != nil || written.Copies != 1) || !c.works && err == nil {
				t.Errorf("%s: got %+v, %v, want a write on one follower: %v", c.name, written, err, c.works)
			}
			if c.works {
				want := shelf{Scope: scope, Files: 1, Bytes: 5, Behind: map[string]bool{"n2": false}}
				pgtest.Eventually(t, 20*time.Second, "the leader's shelf has what the follower's has", func() bool {
					return reflect.DeepEqual(leader.shelves(), []shelf{want})
				})
				want.Behind = map[string]bool{} // a follower does not know it
				if got := follower.shelves(); !reflect.DeepEqual(got, []shelf{want}) {
					t.Errorf("the follower's shelf: got %+v, want %+v", got, want)
				}
			}
			if got, err := follower.Scope(scope).Open("a/b"); err == nil {
				text, _ := io.ReadAll(got)
				_ = got.Close()
				if string(text) != "hello" || !c.works && written.Copies > 0 {
					t.Errorf("the follower has %q, want %q only after a confirmed write", text, "hello")
				}
			} else if c.works {
				t.Error(err)
			}
			stop()
			pgtest.Within(t, 20*time.Second, "the leadership ends", func() { <-over })
		}()
	}
	_, err := follower.Scope(scope).Write(t.Context(), "x", bytes.NewReader(nil), 0)
	if other, ok := errors.AsType[*notLeadingError](err); !ok || other.Holder != "n1" {
		t.Errorf("a follower's write: got %v, want a notLeadingError with holder n1", err)
	}
}

// Each error of chunksync becomes one of the API.
func TestErrorsOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want error }{
		{chunksync.ErrNotFound, errUnknown}, {chunksync.ErrTakingOver, errTakingOver},
		{errors.Join(chunksync.ErrUnconfirmed, &chunksync.StaleError{}), errUnconfirmed},
		{chunksync.ErrTooLarge, errTooLarge}, {chunksync.ErrFull, errTooLarge}, {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF}, {nil, nil},
	} {
		if got := apiError(c.in); !errors.Is(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
	if other, ok := errors.AsType[*notLeadingError](apiError(fence.ErrStale)); !ok || other.Holder != "" {
		t.Errorf("ErrStale of the gate: got %v, want a notLeadingError without a holder", apiError(fence.ErrStale))
	}
	for _, in := range []error{&fence.ShutError{Holder: "n2"}, &chunksync.StaleError{Holder: "n2"}} {
		if other, ok := errors.AsType[*notLeadingError](apiError(in)); !ok || other.Holder != "n2" {
			t.Errorf("%v: got %v, want a notLeadingError with holder n2", in, apiError(in))
		}
	}
	for in, field := range map[error]string{chunksync.ErrCopies: "copies", &chunksync.NameError{Why: "is bad"}: "name"} {
		if bad, ok := errors.AsType[*web.FieldError](apiError(in)); !ok || bad.Field != field {
			t.Errorf("%v: got %v, want a FieldError of %s", in, apiError(in), field)
		}
	}
}

// Token and certificate files without content are found before the node starts.
func TestFilesThatCannotBeKept(t *testing.T) {
	t.Parallel()
	err := node.Check(config.Config{Named: true, Node: config.Node{Listen: config.Off}, Sections: []config.Section{&Section{[]Files{{
		Scope: "data", Dir: t.TempDir(), TokenFile: textFile(t, "# none\n"), CAFile: textFile(t, "no certificate"),
	}}}}}, []node.Kind{Kind()})
	for _, part := range []string{"files[0].token_file", "holds no token", "files[0].ca_file", "holds no certificate"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got the faults %v\nwant one with %q", err, part)
		}
	}
}

// drip returns a byte at each tick, for longer than a server would wait for a body.
type drip struct {
	left int
	tick *time.Ticker
}

func (d *drip) Read(to []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	<-d.tick.C
	d.left--
	to[0] = 'x'
	return 1, nil
}

// An upload may take any time while it makes progress, and the disk may be slow.
func TestALongUpload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		w.files.busy = func() { webtest.Pass(t, 20*time.Second) }
		status, text, err := webtest.Call(t, c, http.MethodPut, "/v1/files/data/x", &drip{left: 12, tick: tick})
		if status != http.StatusOK || err != nil || w.files.wrote != strings.Repeat("x", 12) {
			t.Errorf("got %d %s, %v; stored %q, want 200 and 12 bytes", status, text, err, w.files.wrote)
		}
	})
}

// A stalled upload is ended, so that no client can occupy a server for ever.
func TestAStalledUpload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		began, gone := io.Pipe()
		defer func() { _ = gone.Close() }()
		go func() { _, _ = gone.Write([]byte("x")) }()
		if status, text, err := webtest.Call(t, c, http.MethodPut, "/v1/files/data/x", began); status == http.StatusOK {
			t.Errorf("got %d %s, %v; stored %q, want a failure", status, text, err, w.files.wrote)
		}
	})
}

// A download may take any time while it makes progress.
func TestALongDownload(t *testing.T) {
	t.Parallel()
	webtest.OverBoth(t, worldAndSite, func(t *testing.T, w *world, c *http.Client) {
		const size = 16 << 20 // more than all buffers in between hold
		w.files.large = strings.NewReader(strings.Repeat("x", size))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://conch/v1/files/data/a/c", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		part, got := make([]byte, 64<<10), 0
		for {
			n, err := io.ReadFull(res.Body, part)
			got += n
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			webtest.Pass(t, 10*time.Second)
		}
		if got != size {
			t.Errorf("got %d bytes, want %d", got, size)
		}
	})
}

func TestMetrics(t *testing.T) {
	w := httptest.NewRecorder()
	metric.Page(&collector{func() []shelf {
		return []shelf{{Scope: "led", Files: 2, Bytes: 7, Behind: map[string]bool{"n2": true, "n3": false}}, {Scope: "followed"}}
	}}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`conch_files{scope="led"} 2`, `conch_files_bytes{scope="led"} 7`, `conch_files{scope="followed"} 0`, `conch_files_bytes{scope="followed"} 0`,
		`conch_files_behind{peer="n2",scope="led"} 1`, `conch_files_behind{peer="n3",scope="led"} 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("the page lacks the line %s", line)
		}
	}
	if strings.Contains(w.Body.String(), `scope="followed",peer`) || strings.Contains(w.Body.String(), `peer="",`) {
		t.Error("a follower has conch_files_behind, want it on the leader alone")
	}
}
