package schedule_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

const lease = 3 * time.Second

// office is a worker in a bubble, with the jobs in memory.
type office struct {
	*testing.T
	mu     sync.Mutex
	tables *tables.Tables
	fails  error  // what a take returns
	took   func() // is called when a take has found jobs; nil: nothing is
	cfg    schedule.WorkerConfig
	worker *schedule.Worker
	gate   *fence.Gate
	latch  *fence.Latch
	began  time.Time
	told   []string
}

func (o *office) Take(_ context.Context, post fence.Token, queues []string, t schedule.Take) (schedule.Taken, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fails != nil {
		return schedule.Taken{}, o.fails
	}
	out := o.tables.Take(post.Scope, post.Epoch, queues, t, time.Now())
	if o.took != nil && len(out.Jobs) > 0 {
		o.took()
	}
	return out, nil
}

func (o *office) Look(_ context.Context, post string, progress map[schedule.Key]string) ([]schedule.Held, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, text := range progress {
		o.told = append(o.told, fmt.Sprint(k.ID, " is at ", text))
	}
	return o.tables.Look(post), nil
}

func (o *office) Tell(_ context.Context, ends []schedule.End) (schedule.Told, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tables.Tell(ends, time.Now()), nil
}

func (o *office) now() fence.Instant { return fence.Instant(time.Since(o.began)) }

// bubble runs a test with an office whose post is open for a minute.
func bubble(t *testing.T, do func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &office{T: t, tables: tables.New(), began: time.Now()}
		o.gate, o.latch = fence.New("worker/1", o.now)
		o.latch.Open(fence.Token{Scope: "worker/1", Epoch: 7, Term: fence.Term{7}}, 0, fence.Instant(time.Minute))
		o.cfg = schedule.WorkerConfig{Clock: o.now, Tell: func(e schedule.Event) {
			o.mu.Lock()
			defer o.mu.Unlock()
			switch e := e.(type) {
			case schedule.AttemptEnded:
				o.told = append(o.told, fmt.Sprintf("%d is %s %s%s", e.ID, e.Outcome, e.Error, e.Result))
			case schedule.Trouble:
				o.told = append(o.told, fmt.Sprintf("%s cannot %s: %v", e.Scope, e.What, e.Why))
			}
		}}
		do(o)
	})
}

// add adds a job.
func (o *office) add(handler string) {
	o.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	j := tables.Job{Retries: 3}
	j.Queue, j.Handler, j.Args, j.Timeout = "default", []byte(handler), []byte(`{"to":1}`), 20*time.Second
	o.tables.Add(j, time.Now(), time.Now(), -1)
}

// run has the worker work for so long, and returns how that has ended.
func (o *office) run(d time.Duration) error {
	o.Helper()
	var err error
	if o.worker, err = schedule.NewWorker(o.cfg, o); err != nil {
		o.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(o.Context(), d)
	defer cancel()
	return o.worker.Run(ctx, o.gate)
}

func (o *office) wants(told ...string) {
	o.Helper()
	if !slices.Equal(o.told, told) {
		o.Errorf("it tells %q, want %q", o.told, told)
	}
}

// commands runs what a test says.
type commands func(ctx context.Context, command []string, t *schedule.Task) (schedule.Exit, error)

func (c commands) Run(ctx context.Context, command []string, _ []byte, t *schedule.Task) (schedule.Exit, error) {
	return c(ctx, command, t)
}

// F13: handlers of each kind do jobs, and what comes of each is told.
func TestHandlers(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.cfg.Handlers = map[string]schedule.Handler{
			"hello": func(_ context.Context, t *schedule.Task) ([]byte, error) { return t.Args, nil },
			"fails": func(context.Context, *schedule.Task) ([]byte, error) { return nil, errors.New("no") },
			"dies": func(context.Context, *schedule.Task) ([]byte, error) {
				return nil, fmt.Errorf("%w: never", schedule.ErrDead)
			},
			"later": func(context.Context, *schedule.Task) ([]byte, error) { return nil, schedule.ErrLater },
			"panic": func(context.Context, *schedule.Task) ([]byte, error) { panic("oh") },
			"large": func(context.Context, *schedule.Task) ([]byte, error) {
				return []byte(`"` + strings.Repeat("a", schedule.MostResult) + `"`), nil
			},
			"wrong": func(context.Context, *schedule.Task) ([]byte, error) { return []byte(`{`), nil },
			"slow":  func(ctx context.Context, _ *schedule.Task) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		}
		o.cfg.Commands = commands(func(_ context.Context, command []string, t *schedule.Task) (schedule.Exit, error) {
			code := map[string]int{"dead": 65, "later": 75, "fail": 1}[command[0]]
			return schedule.Exit{Code: code, Says: "so", Result: []byte(`"` + strings.Join(t.Environ(), " ") + `"`)}, nil
		})
		for _, handler := range []string{
			`{"job":"hello"}`, `{"job":"fails"}`, `{"job":"dies"}`, `{"job":"later"}`, `{"job":"panic"}`, `{"job":"large"}`, `{"job":"wrong"}`, `{"job":"nobody"}`,
			`{"http":"https://a/"}`, `{`, `{"command":["x"]}`, `{"command":["dead"]}`, `{"command":["later"]}`, `{"command":["fail"]}`, `{"job":"slow"}`, `{"job":"named"}`,
		} {
			o.add(handler)
		}
		o.cfg.Calls = map[string]schedule.Call{"named": {Command: []string{"false"}}}
		o.cfg.Slots = 20
		if err := o.run(100 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			o.Errorf("it ended with %v", err)
		}
		slices.SortFunc(o.told, func(a, b string) int {
			var i, j int
			_, _ = fmt.Sscan(a, &i)
			_, _ = fmt.Sscan(b, &j)
			return i - j
		})
		o.wants(
			`1 is done {"to":1}`, "2 is failed no", "3 is dead no other attempt is of use: never", "4 is later it is to be tried later", "5 is failed the handler has panicked: oh",
			"6 is done its result has 65538 bytes, and may have 65536: it is not kept",
			"7 is done its result is no JSON that can be stored: it is not kept", `8 is later it is to be tried later: this worker has no handler "nobody"`,
			"10 is dead no other attempt is of use: the handler is no JSON: unexpected end of JSON input",
			`11 is done "CONCH_JOB_ID=11 CONCH_JOB_ATTEMPT=1 CONCH_JOB_QUEUE=default CONCH_JOB_CRON="`, "12 is dead no other attempt is of use: exit code 65: so",
			"13 is later it is to be tried later: exit code 75: so", "14 is failed exit code 1: so", "15 is released the worker ends",
			`16 is done "CONCH_JOB_ID=16 CONCH_JOB_ATTEMPT=1 CONCH_JOB_QUEUE=default CONCH_JOB_CRON="`,
		)
		if j := o.tables.Job(9); j.State != tables.Ready || j.Attempt != 1 {
			o.Errorf("a job that this worker does not post is %s, attempt %d", j.State, j.Attempt)
		}
	})
}

// A handler has the time that its job gives it.
func TestTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.cfg.Handlers = map[string]schedule.Handler{"slow": func(ctx context.Context, t *schedule.Task) ([]byte, error) {
			t.Progress("half")
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		o.add(`{"job":"slow"}`)
		_ = o.run(20500 * time.Millisecond)
		o.wants("1 is at half", "1 is failed timeout: it has taken 20s")
	})
}

// F13: a worker whose post was another's gives back what that has left, and takes it: fenced jobs at once, others when the act door opens.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.latch.Open(fence.Token{Scope: "worker/1", Epoch: 7, Term: fence.Term{7}}, fence.Instant(lease), fence.Instant(time.Minute))
		o.cfg.Handlers = map[string]schedule.Handler{"hello": func(context.Context, *schedule.Task) ([]byte, error) {
			return []byte(fmt.Sprint(int(time.Since(o.began).Seconds()))), nil
		}}
		fenced := tables.Job{Retries: 3}
		fenced.Queue, fenced.Handler, fenced.Timeout, fenced.Fenced = "default", []byte(`{"job":"hello"}`), time.Minute, true
		o.tables.Add(fenced, time.Now(), time.Now(), -1)
		o.add(`{"job":"hello"}`)
		o.tables.Take("worker/1", 6, []string{"default"}, worker.Take{Most: 2}, time.Now())
		_ = o.run(50 * time.Millisecond)
		o.wants("1 is lost its worker is gone", "1 is done 0")
		o.told = nil
		_ = o.run(lease)
		o.wants("2 is lost its worker is gone", "2 is done 3")
	})
}

// Handlers stop when the last deadline of the gate has passed, and the worker ends. A gate that is shut for a moment stops none.
func TestALateGate(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.cfg.Handlers = map[string]schedule.Handler{"slow": func(ctx context.Context, _ *schedule.Task) ([]byte, error) {
			o.latch.Suspend()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		o.latch.Extend(fence.Instant(time.Minute))
		time.AfterFunc(10*time.Second, func() { o.latch.Extend(fence.Instant(15 * time.Second)) })
		o.add(`{"job":"slow"}`)
		// The deadline that it has seen last, before the gate was suspended, counts.
		if err := o.run(time.Hour); !errors.Is(err, fence.ErrLate) || o.now() != fence.Instant(time.Minute) && o.now() != fence.Instant(20*time.Second) {
			o.Errorf("it ended with %v at %s", err, time.Duration(o.now()))
		}
	})
}

// A worker whose token is over ends, and says so. A store that fails is asked again, and somebody is told why nothing is taken.
func TestWhereTakingFails(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.fails = fence.ErrStale
		if err := o.run(time.Hour); !errors.Is(err, fence.ErrStale) {
			o.Errorf("it ended with %v", err)
		}
		o.fails = errors.New("the database is away")
		o.cfg.Handlers = map[string]schedule.Handler{"hello": func(context.Context, *schedule.Task) ([]byte, error) { return nil, nil }}
		o.add(`{"job":"hello"}`)
		time.AfterFunc(3*time.Second, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.fails = nil
		})
		_ = o.run(5 * time.Second)
		o.wants("worker/1 cannot take jobs: the database is away", "worker/1 cannot take jobs: <nil>", "1 is done ")
	})
}

// A job is begun when the word of it comes, and otherwise within five seconds.
func TestWoken(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string]time.Duration{"": time.Second, "default": time.Second, "other": 5 * time.Second} {
		bubble(t, func(o *office) {
			var at time.Duration
			o.cfg.Handlers = map[string]schedule.Handler{"hello": func(context.Context, *schedule.Task) ([]byte, error) {
				at = time.Since(o.began)
				return nil, nil
			}}
			time.AfterFunc(time.Second, func() {
				o.add(`{"job":"hello"}`)
				o.worker.Woken(queue, time.Time{})
			})
			_ = o.run(10 * time.Second)
			if at != want {
				o.Errorf("%q: it begins after %s, want %s", queue, at, want)
			}
		})
	}
}

// F13, S15: a process that stands still between the take of a job and its effect does not have it: the gate is asked right before, by the clock, and
// the attempt does not count.
func TestAFreezeBeforeTheEffect(t *testing.T) {
	t.Parallel()
	for handler, door := range map[string]string{`{"job":"hello"}`: "act", `{"command":["x"]}`: "act", `{"http":"http://a/"}`: "act", `{"job":"proves"}`: "fenced"} {
		bubble(t, func(o *office) {
			var ahead atomic.Int64 // what the loop has read the clock before
			o.gate, o.latch = fence.New("worker/1", func() fence.Instant { return o.now().Add(time.Duration(ahead.Load())) })
			o.latch.Open(fence.Token{Scope: "worker/1", Epoch: 7, Term: fence.Term{7}}, 0, fence.Instant(time.Minute))
			o.took = func() { ahead.Store(int64(2 * time.Minute)) }
			acts := 0
			do := func(context.Context, *schedule.Task) ([]byte, error) { acts++; return nil, nil }
			o.cfg.Handlers = map[string]schedule.Handler{"hello": do, "proves": do}
			o.cfg.Commands = commands(func(context.Context, []string, *schedule.Task) (schedule.Exit, error) {
				acts++
				return schedule.Exit{}, nil
			})
			o.cfg.Hooks = &schedule.Hooks{Key: []byte(strings.Repeat("k", 24)), Hosts: []string{"a"}, Transport: answers(func(*http.Request) *http.Response { acts++; return nil })}
			j := tables.Job{Retries: 3}
			j.Queue, j.Handler, j.Args, j.Timeout, j.Fenced = "default", []byte(handler), []byte(`{}`), time.Minute, door == "fenced"
			o.tables.Add(j, time.Now(), time.Now(), -1)
			_ = o.run(100 * time.Millisecond)
			if acts > 0 {
				o.Errorf("%s has had an effect after the deadline", handler)
			}
			o.wants(fmt.Sprintf(`1 is released the %s door of scope "worker/1" is shut: this process is not its leader: no heartbeat succeeded in time`, door))
		})
	}
}

// F13, S15: a process that stands still while it connects to a receiver sends not one byte when it goes on, and the attempt does not count.
func TestAFreezeWhileConnecting(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		bubble(t, func(o *office) {
			var ahead atomic.Int64
			o.gate, o.latch = fence.New("worker/1", func() fence.Instant { return o.now().Add(time.Duration(ahead.Load())) })
			o.latch.Open(fence.Token{Scope: "worker/1", Epoch: 7, Term: fence.Term{7}}, 0, fence.Instant(time.Minute))
			came := make(chan int, 10)
			o.cfg.Hooks = &schedule.Hooks{Key: []byte(strings.Repeat("k", 24)), Hosts: []string{"a"}, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					n, _ := there.Read(make([]byte, 1000))
					came <- n
					_ = there.Close()
				}()
				ahead.Store(int64(2 * time.Minute))
				return here, nil
			}}}
			o.add(`{"http":"` + scheme + `://a"}`)
			_ = o.run(100 * time.Millisecond)
			o.wants(`1 is released a does not answer: the act door of scope "worker/1" is shut: this process is not its leader: no heartbeat succeeded in time`)
			if n := <-came; n > 0 {
				o.Errorf("%d bytes have left by %s behind a shut gate", n, scheme)
			}
		})
	}
}

// stuck is a connection whose receiver does not read.
type stuck struct {
	net.Conn

	began chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	s.began <- struct{}{}
	return s.Conn.Write(b)
}

// S15: what a job posts is an act until its last byte has left: a handover waits for it and cuts it off, and the attempt does not count.
func TestAPostIsAnAct(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.gate, o.latch = fence.New("worker/1", o.now)
		o.latch.Open(fence.Token{Scope: "worker/1", Epoch: 7, Term: fence.Term{7}}, 0, fence.Instant(time.Minute))
		here, there := net.Pipe()
		first := stuck{here, make(chan struct{}, 10)}
		o.cfg.Hooks = &schedule.Hooks{Key: []byte(strings.Repeat("k", 24)), Hosts: []string{"a"}, Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return first, nil },
		}}
		o.add(`{"http":"http://a"}`)
		var acts int64
		var drained error
		var late int
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-first.began
			acts = o.latch.Acts()
			o.latch.Shut(errors.New("over"))
			drain, cancel := context.WithTimeout(o.Context(), time.Second)
			defer cancel()
			drained = o.latch.Drain(drain)
			_ = there.SetReadDeadline(time.Now().Add(time.Second))
			late, _ = there.Read(make([]byte, 1000))
			_ = there.Close()
		}()
		_ = o.run(10 * time.Second)
		<-done
		if acts != 1 || drained != nil || late > 0 {
			o.Errorf("%d acts are under way, the handover waits for the write: %v, and %d bytes are sent after it; want one, and none", acts, drained, late)
		}
		o.wants(`1 is released a does not answer: the act door of scope "worker/1" is shut: this process is not its leader: over`)
	})
}

// What an attempt may not do that was stopped, it may not do, whatever the gate says.
func TestAStoppedAttemptMayNotAct(t *testing.T) {
	t.Parallel()
	bubble(t, func(o *office) {
		o.cfg.Handlers = map[string]schedule.Handler{"slow": func(ctx context.Context, t *schedule.Task) ([]byte, error) {
			if err := t.MayAct(); err != nil {
				o.Errorf("at its begin: %v", err)
			}
			<-ctx.Done()
			return nil, t.MayAct()
		}}
		o.add(`{"job":"slow"}`)
		_ = o.run(20500 * time.Millisecond)
		o.wants("1 is failed timeout: it has taken 20s")
	})
}

// answers returns a transport to a server that answers what a test says; nil: it hangs up.
func answers(answer func(*http.Request) *http.Response) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer func() { _ = there.Close() }()
			if r, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
				if res := answer(r); res != nil { //nolint:bodyclose // it is written
					res.ProtoMajor, res.ProtoMinor, res.Body = 1, 1, io.NopCloser(strings.NewReader("so"))
					_ = res.Write(there)
				}
			}
		}()
		return here, nil
	}}
}

// A job is posted with a signature that its receiver can check, and only to a host that is configured. A redirect is a failure.
func TestHooks(t *testing.T) {
	t.Parallel()
	const address = "http://hook.example:8443/jobs"
	for _, c := range []struct {
		address string
		answer  *http.Response
		want    string
	}{
		{address, &http.Response{StatusCode: http.StatusNoContent}, "1 is done "},
		{address, &http.Response{StatusCode: http.StatusInternalServerError}, "1 is failed it answers 500 Internal Server Error: so"},
		{address, &http.Response{StatusCode: http.StatusGone}, "1 is dead no other attempt is of use: it answers 410 Gone: so"},
		{address, &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://elsewhere/"}}}, `1 is failed it answers 302 Found, to "https://elsewhere/": redirects are not followed`},
		{address, nil, "1 is failed hook.example:8443 does not answer: EOF"},
		{"https://elsewhere/", &http.Response{StatusCode: http.StatusNoContent}, `1 is dead no other attempt is of use: this worker does not post to "https://elsewhere/": its host is not configured`},
	} {
		bubble(t, func(o *office) {
			var got http.Header
			o.cfg.Hooks = &schedule.Hooks{Key: []byte(strings.Repeat("k", 24)), Hosts: []string{"hook.example:8443"}, Transport: answers(func(r *http.Request) *http.Response {
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"to":1}` {
					o.Errorf("the body is %s, %v", body, err)
				}
				got = r.Header
				return c.answer
			})}
			o.add(`{"http":"` + c.address + `"}`)
			_ = o.run(100 * time.Millisecond)
			o.wants(c.want)
			// By openssl dgst -sha256 -hmac over job_1.946684800.{"to":1}; a bubble begins with the year 2000.
			if want := "v1,drao4nwcHtMaNHjkuKq5BQBkSLblziDfgAMhORetBGM="; got != nil && (got.Get("Webhook-Signature") != want || got.Get("Webhook-Id") != "job_1" || got.Get("Idempotency-Key") != "job_1" || got.Get("Webhook-Timestamp") != "946684800") {
				o.Errorf("the headers are %v", got)
			}
		})
	}
}

// What cannot work is refused, with each of its faults.
func TestWorkerConfig(t *testing.T) {
	t.Parallel()
	_, err := schedule.NewWorker(schedule.WorkerConfig{
		Queues: []string{"", "a", "a"}, Slots: -1, Drain: -1, Handlers: map[string]schedule.Handler{"x": nil}, Calls: map[string]schedule.Call{"y": {}, "z": {HTTP: "a"}}, Hooks: &schedule.Hooks{Key: []byte("short")},
	}, nil)
	for _, want := range []string{`the queue ""`, `the queue "a" twice`, "slots -1", "drain -1ns", `the handler "x"`, `the handler "y": want a command or an http address`, `the handler "z": http = "a"`, "the key has 5 bytes", "no host"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
