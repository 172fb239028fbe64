//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/browser"
	"github.com/conchhq/conch/cmd/conch/internal/ui"
	"github.com/conchhq/conch/internal/pause"
)

// What was asked for, which stands beside each figure as its ceiling.
const (
	wantedFirst, wantedAll       = 45_000, 110_000 // bytes
	wantedBurst                  = 20_000
	wantedPaint, wantedSlow      = 500, 1500 // ms
	wantedChange, wantedChange99 = 150, 500
	wantedFrames, wantedFrame    = 30, 8
	wantedViewer                 = 1000 // bytes a second
	wantedEach                   = 0.05 // % of a core
)

// wantedOf is what was asked for of that many scopes: the browser's main thread and the node, in % of a core, and /metrics in ms.
func wantedOf(scopes int) (thread, node, metrics float64) {
	if scopes > 1000 {
		return 8, 3, 300
	}
	return 5, 0.5, 40
}

// uiPatience bounds what a browser is waited for.
const uiPatience = 2 * time.Minute

// watched measures the page of a node: what it weighs, how soon it shows what is so, and what it takes, from the browser, from the node
// and on the line. Without a browser what only that can tell is left out.
func watched(ctx context.Context, cfg Config) (r Report, err error) {
	s, err := openSite(ctx, cfg)
	defer func() { err = errors.Join(err, s.Clear()) }()
	if err != nil {
		return r, err
	}
	cfg.Say("ui: on %s", s.about(ctx))
	if err := weigh(ctx, &r); err != nil {
		return r, err
	}
	if err := orphaned(ctx, cfg, s, &r); err != nil {
		return r, err
	}
	var b *browser.Browser
	if cfg.Browser == "" {
		cfg.Say("ui: there is no browser: install chromium, or name one in %s", browser.EnvProgram)
	} else if b, err = browser.Start(ctx, cfg.Browser); err != nil {
		return r, fmt.Errorf("the browser: %w", err)
	} else {
		s.Afterwards(func() error { b.Close(); return nil })
	}
	for i, scopes := range cfg.amounts().watched {
		if err := watch(ctx, cfg, s, scopes, b, i == 0, &r); err != nil {
			return r, fmt.Errorf("%d scopes: %w", scopes, err)
		}
	}
	return r, nil
}

// weigh adds up what browsers load, compressed as it is sent.
func weigh(ctx context.Context, r *Report) error {
	pages, err := ui.Pages()
	if err != nil {
		return err
	}
	sent := func(name, takes string) string {
		ask, out := httptest.NewRequestWithContext(ctx, http.MethodGet, name, http.NoBody), httptest.NewRecorder()
		ask.Header.Set("Accept-Encoding", takes)
		pages[name].ServeHTTP(out, ask)
		return out.Body.String()
	}
	first, all := 0, 0
	page := sent("/", "")
	for name := range pages {
		size := len(sent(name, "gzip"))
		all += size
		if name == "/" || strings.Contains(page, strings.TrimPrefix(name, "/")) {
			first += size
		}
	}
	r.beside("first_screen", float64(first), wantedFirst, "bytes")
	r.beside("all_assets", float64(all), wantedAll, "bytes")
	return nil
}

// watch measures with a number of scopes.
func watch(ctx context.Context, cfg Config, s *site, scopes int, b *browser.Browser, first bool, r *Report) error {
	cfg.Say("ui: %d scopes …", scopes)
	return inNewDatabase(func() (string, func() error, error) { return s.another(ctx) }, func(url string) (err error) {
		c, err := openCast(ctx, cfg, s, url, scopes)
		defer func() { c.close() }()
		if err != nil {
			return err
		}
		if err := c.viewed(ctx, r); err != nil {
			return err
		}
		if err := c.scraped(ctx, r); err != nil {
			return err
		}
		if b == nil {
			return nil
		}
		if err := c.shown(ctx, b, r); err != nil {
			return err
		}
		if !first {
			return nil
		}
		for _, part := range []func(context.Context, *browser.Browser, *Report) error{c.painted, c.changed, c.panned} {
			if err := part(ctx, b, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// shown measures how much the page takes of the browser's main thread while nothing happens.
func (c *cast) shown(ctx context.Context, b *browser.Browser, r *Report) error {
	t, err := c.tab(ctx, b, "")
	if err != nil {
		return err
	}
	defer t.Close()
	if err := pause.For(ctx, 2*time.Second); err != nil { // it is drawn
		return err
	}
	before, err := t.Busy()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := pause.For(ctx, c.cfg.amounts().looked); err != nil {
		return err
	}
	after, err := t.Busy()
	wanted, _, _ := wantedOf(c.scopes)
	r.beside(fmt.Sprintf("main_thread_%d", c.scopes), 100*float64(after-before)/float64(time.Since(began)), wanted, "% of a core")
	return err
}

// painted measures until the first line says how things stand, on this machine and by a slow line.
func (c *cast) painted(ctx context.Context, b *browser.Browser, r *Report) error {
	for _, line := range []struct {
		name   string
		wanted float64
		slow   bool
	}{{"paint", wantedPaint, false}, {"paint_slow", wantedSlow, true}} {
		var took []float64
		for range c.cfg.amounts().paints {
			t, err := b.Open(watchesVerdict)
			if err != nil {
				return err
			}
			if line.slow {
				err = t.Slow(1.6e6/8, 150*time.Millisecond, 0.25)
			}
			var one float64
			if err == nil {
				err = t.Go(ctx, c.url())
			}
			if err == nil {
				one, err = browser.Ask[float64](ctx, t, "verdict")
			}
			t.Close()
			if err != nil {
				return err
			}
			took = append(took, one)
		}
		r.beside(line.name+"_p50", median(took), line.wanted, "ms")
	}
	return nil
}

// watchesVerdict makes a promise of when the first line was drawn, in ms since the page was asked for.
const watchesVerdict = `self.verdict = new Promise((done) => {
	const look = () => {
		const line = document.querySelector('.verdict h1')?.innerText ?? ''
		if (line.includes('led') || line.includes('leader')) requestAnimationFrame(() => done(performance.now()))
		else requestAnimationFrame(look)
	}
	requestAnimationFrame(look)
})`

// changed measures from a change of hands, as the database dates it, until it is on the screen.
func (c *cast) changed(ctx context.Context, b *browser.Browser, r *Report) error {
	const scope = "scope-00000"
	t, err := c.tab(ctx, b, "#/leaders/s?scope="+scope)
	if err != nil {
		return err
	}
	defer t.Close()
	var took []time.Duration
	for range c.cfg.amounts().changes {
		one, err := c.change(ctx, t, scope)
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	r.beside("change_to_screen_p50", ms(quantile(took, 0.5)), wantedChange, "ms")
	r.beside("change_to_screen_p99", ms(quantile(took, 0.99)), wantedChange99, "ms")
	return nil
}

func (c *cast) change(ctx context.Context, t *browser.Tab, scope string) (time.Duration, error) {
	had, err := c.epoch(ctx, scope)
	if err != nil {
		return 0, err
	}
	seen := make(chan float64, 1)
	failed := make(chan error, 1)
	go func() {
		at, err := browser.Ask[float64](ctx, t, fmt.Sprintf(`new Promise((done) => {
			const look = () => {
				const epoch = Number([...document.querySelectorAll('dt')].find((e) => e.innerText === 'Epoch')?.nextElementSibling?.innerText)
				if (epoch > %d) done(performance.timeOrigin + performance.now())
				else requestAnimationFrame(look)
			}
			look()
		})`, had.Epoch))
		if err != nil {
			failed <- err
			return
		}
		seen <- at
	}()
	if err := c.watcher.Ask(ctx, http.MethodPost, "/v1/drain", map[string]any{"scope": scope}, new(any)); err != nil {
		return 0, err
	}
	var at float64
	select {
	case at = <-seen:
	case err := <-failed:
		return 0, err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	is, err := c.epoch(ctx, scope)
	return time.Duration((at - float64(is.At.UnixMicro())/1000) * float64(time.Millisecond)), err
}

// panned measures how the timeline of many events is moved.
func (c *cast) panned(ctx context.Context, b *browser.Browser, r *Report) error {
	if err := c.past(ctx, c.cfg.amounts().panned); err != nil {
		return err
	}
	t, err := c.tab(ctx, b, "#/timeline?w=24h")
	if err != nil {
		return err
	}
	defer t.Close()
	if err := pause.For(ctx, 3*time.Second); err != nil { // the past is read
		return err
	}
	best, cost := 0.0, 0.0
	for range 5 {
		before, err := t.Busy()
		if err != nil {
			return err
		}
		frames, err := browser.Ask[float64](ctx, t, pans)
		if err != nil {
			return err
		}
		after, err := t.Busy()
		if err != nil {
			return err
		}
		if perSecond := frames / pansFor.Seconds(); perSecond > best {
			best, cost = perSecond, ms(after-before)/frames
		}
	}
	name := fmt.Sprintf("pan_%d_events", c.cfg.amounts().panned)
	r.beside(name, best, wantedFrames, "frames/s")
	r.beside(name+"_frame", cost, wantedFrame, "ms")
	return nil
}

const pansFor = 2 * time.Second

// pans moves the lanes a little in each frame, there and back, and counts frames.
var pans = fmt.Sprintf(`new Promise((done) => {
	const lanes = document.querySelector('.lane-box canvas')
	const began = performance.now()
	let n = 0
	const step = () => {
		lanes.dispatchEvent(new WheelEvent('wheel', { deltaX: n %% 120 < 60 ? -20 : 20, deltaY: 0, bubbles: true, cancelable: true }))
		n++
		if (performance.now() - began < %d) requestAnimationFrame(step)
		else done(n)
	}
	requestAnimationFrame(step)
})`, pansFor.Milliseconds())
