//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// strangeWords are reason phrases and bodies that a database may refuse in some encoding, or find
// too long.
var strangeWords = []string{
	"Kein Zugriff f\xfcr Sie",
	"nothing\x00follows",
	"\U0001f41a \u2192 \u202e",
	strings.Repeat("zu lang f\xfcr Sie ", 10_000),
}

// strangeCommand fails with strange words. See also [strangeProgram].
const strangeCommand = `command = ['sh', '-c', 'printf "f\374r \000 \360\237\220\232" >&2; exit 3']`

// strangeProgram makes an executable file that cannot be started. Its name is part of the error.
func strangeProgram(dir string) (string, error) {
	file := filepath.Join(dir, "\U0001f41a\u2192\u202e")
	err := os.WriteFile(file, []byte("\xfc\n"), 0o700) //nolint:gosec // it has to look like a program
	return fmt.Sprintf("command = ['%s']", file), err
}

// speaker is the program of http roles. Under the path /bad/ it refuses to start.
type speaker struct {
	at     string
	server *http.Server

	mu      sync.Mutex
	refused map[string]bool // paths at which it refused to start with strange words
}

func speak() (*speaker, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &speaker{at: "http://" + listener.Addr().String(), refused: map[string]bool{}}
	s.server = &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *speaker) answer(w http.ResponseWriter, r *http.Request) {
	var number int
	if _, err := fmt.Sscanf(r.URL.Path, "/bad/%d/start", &number); err != nil || !strings.HasSuffix(r.URL.Path, "/start") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack() // no library writes such a line
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	words := strangeWords[number%len(strangeWords)]
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 500 %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", words, len(words), words)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[r.URL.Path] = true
}

// spoken returns how many different words were sent.
func (s *speaker) spoken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refused)
}

// speakStrangely lets most roles of a daemon fail with strange words. Another daemon must take them
// over as soon as it can. The healthy role of the first is handed over as fast as ever, also by an
// operator with a strange name.
func speakStrangely(ctx context.Context, n *nemesis, in *Injection) error {
	program, err := speak()
	if err != nil {
		return err
	}
	defer func() { _ = program.server.Close() }() // after the daemons, which ask it to stop
	p, err := n.openPair(ctx, in, true)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	healthy := p.scope("healthy")
	odd, bad, good, err := p.strange(program)
	if err != nil {
		return err
	}
	bad, good = append(bad, role{scope: healthy}), append(good, role{scope: healthy})
	sick, sound := p.daemons[0], p.daemons[1]
	if err := p.write(sick, bad...); err != nil {
		return err
	}
	if err := p.write(sound, good...); err != nil {
		return err
	}
	for _, d := range p.daemons {
		for _, scope := range append(odd, healthy) {
			p.ask(scope, d, func(a *asker) { a.needs = briefAct })
		}
	}
	if err := sick.start(n.Cluster); err != nil {
		return err
	}
	heard := func() bool { return p.leader(healthy).epoch > 0 && program.spoken() == len(strangeWords) }
	if n.until(ctx, func() bool { return heard() || !sick.alive() }); !heard() {
		n.violate(ctx, in.Number, Recovers, "%d of %d strange words were heard by %s after its start%s", program.spoken(), len(strangeWords), sick.id, p.lastWords())
		return nil
	}
	return p.takeOver(ctx, odd, healthy)
}

// strange returns scopes whose roles fail at one daemon and not at the other, and these roles.
func (p *daemonPair) strange(program *speaker) (odd []string, bad, good []role, err error) {
	add := func(scope, badly, well string) {
		odd, bad, good = append(odd, scope), append(bad, role{scope, badly}), append(good, role{scope, well})
	}
	for i := range strangeWords {
		add(p.scope(fmt.Sprintf("strange-%d", i)), fmt.Sprintf("http = \"%s/bad/%d\"", program.at, i), fmt.Sprintf("http = \"%s/good/%d\"", program.at, i))
	}
	file, err := strangeProgram(p.daemons[0].dir)
	for i, command := range []string{strangeCommand, file} {
		add(p.scope(fmt.Sprintf("command-%d", i)), command, `command = ["sleep", "1000"]`)
	}
	return odd, bad, good, err
}

// takeOver starts the daemon at which nothing fails.
func (p *daemonPair) takeOver(ctx context.Context, odd []string, healthy string) error {
	sound := p.daemons[1]
	if err := sound.start(p.n.Cluster); err != nil {
		return err
	}
	for _, scope := range append(odd, healthy) {
		p.expectLeader(scope)
	}
	led := func() bool {
		for _, scope := range odd {
			if p.leader(scope).node != sound.id {
				return false
			}
		}
		return true
	}
	// The next steps also run if nobody takes over: they show whether the healthy scope is delayed.
	start := Step{What: "start of " + sound.id, Scopes: odd, Bound: crash}
	if _, err := p.n.step(ctx, p.injection, start, func() error { return nil }, led); err != nil {
		return err
	}
	for _, strangely := range []bool{false, true} { // there and back
		before := p.leader(healthy)
		_, leader := p.other(before)
		handOn := func() error { return drain(ctx, p, healthy) }
		if strangely {
			handOn = func() error { return leader.drainAt(ctx, healthy) }
		}
		_, err := p.n.step(ctx, p.injection, Step{What: "drain", Scopes: []string{healthy}, Bound: clean}, handOn,
			func() bool { return p.leader(healthy).epoch > before.epoch })
		if err != nil {
			return err
		}
	}
	return nil
}

// drainAt asks a daemon for a drain over HTTP, under the name of the token. Any answer will do.
func (d *daemon) drainAt(ctx context.Context, scope string) error {
	node := d.api(orderPatience)
	defer node.Close()
	err := node.Ask(ctx, http.MethodPost, "/v1/scopes/"+scope+"/drain", nil, new(any))
	if _, silent := errors.AsType[*url.Error](err); silent {
		return &stuckError{fmt.Sprintf("a drain of %q over HTTP was not answered in %s: %v", scope, orderPatience, err)}
	}
	return nil
}
