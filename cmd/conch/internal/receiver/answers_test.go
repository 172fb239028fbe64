package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/fence"
)

// What each status means, by whether a copy may still be under way.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, kind := range overHTTP {
		gateway := alerts.Doubted
		if kinds[kind] == alerts.Text {
			gateway = alerts.Failed // a doubted text may be told to nobody
		}
		ok := alerts.Taken
		if kind == PagerDuty { // only 202 is its answer
			ok = alerts.Doubted
		}
		for status, want := range map[int]alerts.Answer{
			200: ok, 202: alerts.Taken, 204: ok, 301: alerts.Refused, 307: alerts.Refused, 400: alerts.Refused, 403: alerts.Refused, 404: alerts.Refused, 410: alerts.Refused,
			408: alerts.Failed, 425: alerts.Failed, 429: alerts.Failed, 500: alerts.Failed, 503: alerts.Failed, 502: gateway, 504: gateway, 520: gateway, 524: gateway,
		} {
			var came atomic.Int32
			s := play(t, func(w http.ResponseWriter, _ *http.Request) {
				came.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			})
			answer, err := tell(t, open(t, configOf(t, kind, s.URL)), nil)
			if answer != want || (err == nil) != (want == alerts.Taken) || came.Load() != 1 {
				t.Errorf("%s, %d: got answer %d and %v after %d requests, want answer %d after one", kind, status, answer, err, came.Load(), want)
			}
			if err != nil && faultOfError(t, err).Status != status {
				t.Errorf("%s, %d: the fault has the status %d", kind, status, faultOfError(t, err).Status)
			}
		}
	}
}

// A redirect is not followed: the body, and with it a key, would go where nobody has said.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	other := play(t, func(http.ResponseWriter, *http.Request) { came.Add(1) })
	s := play(t, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL+"/SECRET", http.StatusTemporaryRedirect)
	})
	for _, kind := range overHTTP {
		answer, err := tell(t, open(t, configOf(t, kind, s.URL)), nil)
		if answer != alerts.Refused || came.Load() != 0 || strings.Contains(err.Error(), other.URL) {
			t.Errorf("%s: got answer %d, %v and %d requests elsewhere", kind, answer, err, came.Load())
		}
	}
}

// What has left and has no answer is doubted, and what has not left has failed.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strange.Close)
	plain := play(t, func(http.ResponseWriter, *http.Request) {})
	for _, kind := range overHTTP {
		for name, c := range map[string]struct {
			base string
			want alerts.Answer
			says string
		}{
			"nobody listens":         {"http://" + nobody.Addr().String(), alerts.Failed, "refuses connections"},
			"a name that is not":     {"http://no-such-host.invalid", alerts.Failed, "cannot be looked up"},
			"a strange certificate":  {strange.URL, alerts.Failed, "signed by nobody whom this machine knows"},
			"no TLS":                 {strings.Replace(plain.URL, "http:", "https:", 1), alerts.Failed, "does not speak TLS"},
			"hangs up":               {raw(t, ""), alerts.Doubted, "hung up"},
			"hangs up in its answer": {raw(t, "HTTP/1.1 20"), alerts.Doubted, "after the message had left"},
			"no HTTP":                {raw(t, "220 mail.example\r\n"), alerts.Doubted, "after the message had left"},
			"hangs up in its body":   {raw(t, "HTTP/1.1 202 Accepted\r\nContent-Length: 1000\r\n\r\nhalf"), alerts.Taken, ""},
			"a fault without an end": {raw(t, "HTTP/1.1 400 Bad\r\nContent-Length: 1000\r\n\r\nhalf"), alerts.Refused, "answer 400"},
		} {
			answer, err := tell(t, open(t, configOf(t, kind, c.base)), nil)
			if answer != c.want || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%s, %s: got answer %d and %v, want answer %d and a fault that says %q", kind, name, answer, err, c.want, c.says)
			}
		}
	}
}

// A receiver that answers slowly, or much, costs no more than the time for one message, and 16 kB.
func TestSlowAndLargeAnswers(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	trickle := play(t, func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for req.Context().Err() == nil {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-hold:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	var sent atomic.Int64
	large := play(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for range 10 << 10 {
			n, err := io.WriteString(w, strings.Repeat("y", 1<<10))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	defer close(hold) // before the servers are closed, which wait for their answers
	late, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	var work sync.WaitGroup
	for _, kind := range overHTTP {
		ended, end := context.WithCancelCause(t.Context())
		silent := play(t, func(http.ResponseWriter, *http.Request) {
			end(context.DeadlineExceeded) // so long for the test
			<-hold
		})
		for name, c := range map[string]struct {
			ctx  context.Context
			base string
			want alerts.Answer
			says string
		}{
			"silent":  {ended, silent.URL, alerts.Doubted, "no answer in time, after the message had left"},
			"trickle": {late, trickle.URL, alerts.Failed, "answer 500"},
			"large":   {t.Context(), large.URL, alerts.Refused, "answer 400: yyy"},
		} {
			r := open(t, configOf(t, kind, c.base))
			work.Go(func() {
				answer, err := r.Tell(c.ctx, nil, home.Write(texts, sample(1, 0)))
				if answer != c.want || err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 2*mostWords {
					t.Errorf("%s, %s: got answer %d and %v, want answer %d and a short fault that says %q", kind, name, answer, err, c.want, c.says)
				}
			})
		}
	}
	work.Wait()
	if sent.Load() >= 10<<20*int64(len(overHTTP)) {
		t.Errorf("all of %d bytes was read", sent.Load())
	}
}

// S15: a process that may not act any more sends nothing, and knows that nothing has left.
func TestNothingLeavesBehindAShutGate(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	s := play(t, func(http.ResponseWriter, *http.Request) { came.Add(1) })
	shut := errors.New("shut: SECRET")
	for _, kind := range overHTTP {
		answer, err := tell(t, open(t, configOf(t, kind, s.URL)), func() error { return shut })
		if answer != alerts.Failed || came.Load() != 0 || !strings.Contains(err.Error(), "may not") {
			t.Errorf("%s: got answer %d, %v and %d requests, want that nothing has left", kind, answer, err, came.Load())
		}
	}
	o := openOffice(t, usual)
	if answer, err := tell(t, o.mailbox(t, nil), func() error { return shut }); answer != alerts.Failed || len(o.said.list()) != 0 {
		t.Errorf("e-mail: got answer %d, %v and %q, want that nothing has left", answer, err, o.said.list())
	}
	// It shuts before the end of the letter.
	var begun atomic.Bool
	o = openOffice(t, func(command string) string {
		begun.Store(begun.Load() || command == "DATA")
		return usual(command)
	})
	answer, err := tell(t, o.mailbox(t, nil), func() error {
		if begun.Load() {
			return shut
		}
		return nil
	})
	if answer != alerts.Failed || len(o.letters.list()) != 0 {
		t.Errorf("e-mail: got answer %d, %v and the letters %q, want that none has left whole", answer, err, o.letters.list())
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

// S15: a message is an act until its last byte has left, by every kind of receiver: a handover waits for it and cuts it off.
func TestAWriteIsAnAct(t *testing.T) {
	t.Parallel()
	for _, kind := range append([]string{Email}, overHTTP...) {
		gate, latch := fence.New("conch:alerts", func() fence.Instant { return 1 })
		latch.Open(fence.Token{Scope: "conch:alerts", Epoch: 1, Term: fence.Term{1}}, 0, fence.Instant(time.Hour))
		here, there := net.Pipe()
		first := stuck{here, make(chan struct{}, 10)}
		w := &way{
			dial: func(context.Context, string, string) (net.Conn, error) { return first, nil },
			acts: func(write func(context.Context) error) error {
				return gate.Do(t.Context(), fence.Act, 0, func(answer context.Context, _ fence.Token) error { return write(answer) })
			},
		}
		base := "http://receiver.example"
		if kind == Email {
			base = "smtp://receiver.example:25"
			go func() { _, _ = there.Write([]byte("220 here\r\n")) }()
		}
		r := open(t, configOf(t, kind, base))
		ended := make(chan outcome, 1)
		go func() { ended <- r.medium.tell(t.Context(), w, home.Write(texts, sample(1, 0))) }()
		<-first.began
		if n := latch.Acts(); n != 1 {
			t.Errorf("%s: %d acts are under way, want the write", kind, n)
		}
		latch.Shut(errors.New("over"))
		drain, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := latch.Drain(drain); err != nil {
			t.Errorf("%s: the handover waits for the write: %v", kind, err)
		}
		cancel()
		_ = there.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := there.Read(make([]byte, 1000)); n > 0 {
			t.Errorf("%s: %d bytes are sent after the handover, %v", kind, n, err)
		}
		_ = there.Close()
		if o := <-ended; !o.shut || o.left {
			t.Errorf("%s: got %+v, want that nothing has left", kind, o)
		}
	}
}

// A receiver that asks for a pause has one, of a minute at most, and nothing is sent meanwhile.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "100000": mostWait, "-1": 0, "soon": 0, "": 0, "Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 30 Nov 2026 11:00:00 GMT": 0,
	} {
		var came atomic.Int32
		s := play(t, func(w http.ResponseWriter, _ *http.Request) {
			came.Add(1)
			w.Header().Set("Date", "Mon, 30 Nov 2026 12:00:00 GMT")
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		r := open(t, configOf(t, Slack, s.URL))
		at := now
		r.now = func() time.Time { return at }
		_, err := tell(t, r, nil)
		if got := faultOfError(t, err).Wait; got != want {
			t.Errorf("%q: it waits %v, want %v", text, got, want)
		}
		before := int32(1)
		if want == 0 {
			before = 2
		}
		if answer, err := tell(t, r, nil); answer != alerts.Failed || err == nil || came.Load() != before {
			t.Errorf("%q: meanwhile got answer %d, %v and %d requests, want %d", text, answer, err, came.Load(), before)
		}
		at = at.Add(mostWait + time.Second)
		if _, _ = tell(t, r, nil); came.Load() != before+1 {
			t.Errorf("%q: afterwards it was not told", text)
		}
	}
}

// A test has a key of its own, which it ends at once, also if it is not known whether it has begun.
func TestTrying(t *testing.T) {
	t.Parallel()
	for _, kind := range overHTTP {
		for _, status := range []int{http.StatusAccepted, http.StatusGatewayTimeout, http.StatusNotFound} {
			var got heard
			s := play(t, func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				got.add(string(body))
				if len(got.list()) == 1 {
					w.WriteHeader(status)
					return
				}
				w.WriteHeader(http.StatusAccepted)
			})
			answer, _ := open(t, configOf(t, kind, s.URL)).Try(t.Context(), nil, home)
			all := got.list()
			want := 1
			if kinds[kind] != alerts.Text && status != http.StatusNotFound {
				want = 2
			}
			if len(all) != want || (answer == alerts.Taken) != (status == http.StatusAccepted) {
				t.Errorf("%s, %d: got answer %d and the messages %q, want %d", kind, status, answer, all, want)
			}
			for i, text := range all {
				if kind != Heartbeat && !strings.Contains(text, "TEST") && !strings.Contains(text, `"test":true`) && i == 0 || strings.Contains(text, "NoLeader") {
					t.Errorf("%s: a test looks like %s", kind, text)
				}
			}
			if want == 2 && kind != Alertmanager && (!strings.Contains(all[0], "conch/prod/conch alerts test/the "+kind) || !strings.Contains(all[1], "conch/prod/conch alerts test/the "+kind)) {
				t.Errorf("%s: the messages %q have not the key of a test", kind, all)
			}
		}
	}
}

// A node tells its receivers by their names, and knows when it lacks one.
func TestTeller(t *testing.T) {
	t.Parallel()
	var got heard
	s := play(t, func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got.add(string(body))
	})
	all := Teller{Receivers: []*Receiver{open(t, configOf(t, Slack, s.URL))}, Place: home, Texts: func(rule string) Texts {
		return Texts{Annotations: map[string]string{"summary": "words of " + rule}}
	}}
	if answer, err := all.Tell(t.Context(), "the slack", sample(1, 0)); answer != alerts.Taken || err != nil || !strings.Contains(fmt.Sprint(got.list()), "words of NoLeader") {
		t.Errorf("got answer %d, %v and %q", answer, err, got.list())
	}
	if answer, err := all.Tell(t.Context(), "another", sample(1, 0)); answer != alerts.Refused || err == nil {
		t.Errorf("of a receiver that is not there got answer %d and %v", answer, err)
	}
}

// A library that sends a message again, as some do after a fault, does not get through: it may be there already.
func TestOneMessageIsOneRequest(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	s := play(t, func(w http.ResponseWriter, _ *http.Request) {
		came.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o := new(way).post(func(client *http.Client) error {
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
			if err != nil {
				return err
			}
			_ = send(client, req, "")
		}
		return nil
	})
	if came.Load() != 1 || o.status != http.StatusServiceUnavailable {
		t.Errorf("got %d requests and the status %d, want one", came.Load(), o.status)
	}
}
