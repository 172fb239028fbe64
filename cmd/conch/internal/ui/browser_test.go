package ui_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/conchhq/conch/internal/runtest"
)

// patience is for a page on a machine that has much else to do.
const patience = 60 * time.Second

// shared is the one browser of these tests. TestMain ends it.
var shared struct {
	sync.Mutex
	ctx context.Context
	end []context.CancelFunc
}

func TestMain(m *testing.M) {
	runtest.AtOnce(6) // most of them wait, for what a page does within seconds; a tab takes some 60 MB
	code := m.Run()
	for _, end := range slices.Backward(shared.end) {
		end()
	}
	os.Exit(code)
}

// browser starts it.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.ctx != nil {
		return shared.ctx
	}
	path := os.Getenv("CONCH_CHROMIUM")
	if path == "" {
		path, _ = exec.LookPath("chromium")
	}
	if path == "" {
		runtest.Missing(t, "no browser is installed: scripts/ui.sh browser says which, CONCH_CHROMIUM names it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	all, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	root, end := chromedp.NewContext(all)
	shared.end = append(shared.end, cancel, end)
	// The browser ends with the context of the first call, so that this has no limit: a browser that does not start fails by the one of its allocator.
	if err := chromedp.Do(root); err != nil {
		t.Fatal(err)
	}
	shared.ctx = root //nolint:fatcontext // the one of the browser
	return root
}

// tab is a page of the browser.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close func()
	as    look
}

// look is how a page is looked at.
type look struct {
	width, height int64
	dark          bool
}

var (
	desk  = look{width: 1440, height: 900}
	phone = look{width: 390, height: 844}
	night = look{width: 390, height: 844, dark: true}

	// looks are all of them, and fewLooks some, for pictures.
	looks    = map[string]look{"light-1440": desk, "dark-1440": {width: 1440, height: 900, dark: true}, "light-390": phone, "dark-390": night}
	fewLooks = map[string]look{"light-1440": desk, "dark-390": night}
)

// axed are the looks for which axe-core looks at a page.
func axed() []look {
	if runtest.Whole() {
		return slices.Collect(maps.Values(looks))
	}
	return slices.Collect(maps.Values(fewLooks))
}

// faults collects what a page refuses and what fails in it, which no test would see.
const faults = `self.faults = []
addEventListener('securitypolicyviolation', (e) => self.faults.push('policy: ' + e.violatedDirective + ' ' + e.blockedURI))
addEventListener('error', (e) => self.faults.push('error: ' + e.message))
addEventListener('unhandledrejection', (e) => self.faults.push('rejection: ' + (e.reason && e.reason.message)))
self.alert = () => self.faults.push('somebody called alert')
const log = console.error
console.error = (...all) => { self.faults.push('console: ' + all.join(' ')); log(...all) }`

// open opens a URL in a tab of its own.
func open(t *testing.T, url string, as look) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t))
	b := &tab{t, ctx, cancel, as}
	t.Cleanup(func() {
		if ctx.Err() == nil {
			b.sound()
		}
		cancel()
	})
	scheme := "light"
	if as.dark {
		scheme = "dark"
	}
	// A tab ends with the context of its first call, so that this one has no limit of its own.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	b.resize(as)
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: faults})
	b.do(chromedp.Navigate(url))
	return b
}

// resize makes the page as large as a look has it.
func (b *tab) resize(as look) {
	b.as = as
	b.do(chromedp.EmulateViewport(as.width, as.height))
}

// at goes to a view.
func (b *tab) at(hash string) {
	b.t.Helper()
	js[bool](b, "location.hash = "+quote(hash)+"; new Promise((done) => setTimeout(() => done(true), 50))") // the page learns of it later
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js evaluates an expression in the page; a promise is waited for.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	got, err := evaluated[T](b, expression)
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

func evaluated[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits for an expression to be true. One that has no value while a page is loaded is not true yet.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		holds, err := evaluated[bool](b, "!!("+expression+")")
		if holds && err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("waited for this in vain: %s (%v); the page says:\n%s", what, err, b.text())
		}
	}
}

// quote writes a text as an expression of the page.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // of a string there is none
	}
	return string(quoted)
}

func (b *tab) text() string { return js[string](b, "document.body.innerText") }

// says waits for a text on the page.
func (b *tab) says(text string) {
	b.t.Helper()
	quoted := quote(text)
	b.until("the page says "+text, "document.body.innerText.replaceAll('\\u00a0', ' ').includes("+quoted+")")
}

// press clicks the first button or link that has a text.
func (b *tab) press(text string) {
	b.t.Helper()
	quoted := quote(text)
	b.until("there is a button "+text, `(() => {
		const it = [...document.querySelectorAll('button, a')].find((e) => e.innerText.trim() === `+quoted+` && !e.disabled)
		if (it) it.click()
		return it
	})()`)
}

// fill writes into a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	quoted := quote(text)
	b.until("there is a field "+selector, `(() => {
		const it = document.querySelector('`+selector+`')
		if (it) { it.value = `+quoted+`; it.dispatchEvent(new Event('input', { bubbles: true })) }
		return it
	})()`)
}

// sound fails the test if the page has broken its policy, or failed.
func (b *tab) sound() {
	b.t.Helper()
	if found := js[[]string](b, "self.faults || []"); len(found) > 0 {
		b.t.Errorf("on the page: %s", strings.Join(found, "; "))
	}
	if cookie := js[string](b, "document.cookie"); cookie != "" {
		b.t.Errorf("the page has a cookie: %s", cookie)
	}
}

// axe runs axe-core, and returns what it finds that is serious.
func (b *tab) axe() []string {
	b.t.Helper()
	tools := os.Getenv("CONCH_UI_TOOLS")
	if tools == "" {
		runtest.Missing(b.t, "axe-core is not installed: scripts/ui.sh tools installs it from npm, CONCH_UI_TOOLS names the folder")
	}
	code, err := os.ReadFile(filepath.Join(tools, "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	js[bool](b, "(() => {"+string(code)+"\n})(); true")
	return js[[]string](b, `axe.run({ resultTypes: ['violations'] }).then((r) => r.violations
		.filter((v) => v.impact === 'serious' || v.impact === 'critical')
		.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? '')).slice(0, 4).join(' | ')))`)
}

// serious fails the test for what axe-core finds that is serious, and for a page that is wider than its screen.
func (b *tab) serious(where string) {
	b.t.Helper()
	for _, found := range b.axe() {
		b.t.Errorf("%s, %+v: %s", where, b.as, found)
	}
	b.fits(where)
}

// spoiled lists what does not fit: texts that lie on what is beside them, short names that are broken within a word, and the node's name in the bar.
const spoiled = `(() => {
	const told = (e) => e.innerText.slice(0, 40)
	const spills = [...document.querySelectorAll('main .line > *, main td, dialog .line > *')].filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'visible')
	const broken = [...document.querySelectorAll('main .name')].filter((e) => e.getClientRects().length > 0).filter((e) => {
		const text = e.textContent
		const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT)
		let last = null, at = 0
		for (let node = walk.nextNode(); node && text.length <= 12; node = walk.nextNode()) for (let i = 0; i < node.length; i++, at++) {
			const range = document.createRange()
			range.setStart(node, i)
			range.setEnd(node, i + 1)
			const rect = range.getBoundingClientRect()
			if (last && rect.top > last.bottom - 2 && !/[-:/ …]/.test(text[at - 1])) return true
			last = rect
		}
		return false
	})
	const cut = [...document.querySelectorAll('header .seen')].filter((e) => !e.innerText.includes('·') && e.scrollWidth > e.clientWidth + 1)
	return [...spills.map((e) => 'spills: ' + told(e)), ...broken.map((e) => 'is broken: ' + told(e)), ...cut.map((e) => 'is cut: ' + told(e))]
})()`

// fits fails the test if something on the page does not fit, or the page does not fit its screen.
func (b *tab) fits(where string) {
	b.t.Helper()
	for _, one := range js[[]string](b, spoiled) {
		b.t.Errorf("%s, %d wide: this %s", where, b.as.width, one)
	}
	if wide := js[int64](b, "document.documentElement.scrollWidth"); wide > b.as.width {
		b.t.Errorf("%s is %d pixels wide on a screen of %d", where, wide, b.as.width)
	}
}

// inert fails the test if what others have named is anything but a text, with code points for what turns text around.
func (b *tab) inert(where string) {
	b.t.Helper()
	if js[bool](b, "document.querySelectorAll('img').length > 0 || /[\\u202e\\u2066]/.test(document.documentElement.outerHTML.replace(/value=\"[^\"]*\"/g, ''))") {
		b.t.Errorf("%s has an image, or a code point that turns text around", where)
	}
	b.fits(where)
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}
