//go:build unix

package ui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// demonstrated runs the demo, and returns what it says and the address of its page.
func demonstrated(t *testing.T) (demo *proctest.Process, page string) {
	t.Helper()
	program, err := proctest.Build("conch-lab", "../../conch-lab", proctest.Stamp...)
	if err != nil {
		t.Fatal(err)
	}
	chain := os.Getenv("CONCH_DEVNODE")
	if chain == "" {
		if chain, err = proctest.Build("chain/conch-devnode", "../../../../chain/evm/cmd/conch-devnode", "-ldflags", "-s -w"); err != nil {
			t.Fatal(err)
		}
	}
	log := &nodetest.Log{}
	cmd := exec.Command(program, "demo", "--duration", "10m", "--kill-every", "3s", "--lease", "1s", "--listen", "127.0.0.1:0")
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "CONCH_") && (!strings.HasPrefix(setting, "PG") || strings.HasPrefix(setting, "PGT")) {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "CONCH_DEVNODE="+chain)
	cmd.Stdout, cmd.Stderr = log, log
	demo = proctest.Start(t, cmd)
	return demo, log.Find(t, `look at (http://\S+/) while it runs`)
}

// front makes the picture of the README, of a moment in which all is led after some deaths, if somebody wants pictures.
func (b *tab) front(epoch string) {
	b.t.Helper()
	dir := os.Getenv("CONCH_PICTURES")
	if dir == "" {
		return
	}
	b.until("some have died", epoch+" >= 9")
	b.resize(look{width: 1200, height: 660})
	b.until("all is led", "/^All \\d+ scopes are led( ·|$)/.test(document.title) && document.querySelector('.verdict.good') && !document.querySelector('.lease.late')")
	b.takes(filepath.Join(dir, "dashboard.png"), chromedp.CaptureScreenshot()) // docs/dashboard.png
	b.resize(desk)
	b.pictured("demo-leaders")
}

// F8, F11, S32: the page of the demo has what its nodes have, and leaders die in front of those that look at it: lanes, failovers with their reasons,
// transactions that go on, a cron each second. Nothing that it asks for is refused, and nothing on it fails; nor does a node that looks on
// disturb what the demo proves.
func TestThePageOfTheDemo(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	browser(t)
	demo, page := demonstrated(t)
	b := open(t, page, desk)
	js[bool](b, "performance.setResourceTimingBufferSize(20000); true")
	b.until("all is led at some time", "/ are led/.test(document.title)")
	const tabs = "Leaders Timeline Events Transactions Crons Jobs Dead letters Nodes"
	if got := js[string](b, "[...document.querySelectorAll('nav a')].map((a) => a.innerText).join(' ')"); got != tabs {
		t.Errorf("the tabs are %q, want %q", got, tabs)
	}
	const epoch = "Number(/epoch (\\d+)/.exec([...document.querySelectorAll('.card')].find((c) => c.querySelector('h2').innerText === 'demo')?.innerText)?.[1] ?? 0)"
	b.until("somebody leads the work", epoch+" > 0")
	before := js[int](b, epoch)
	b.until("its leaders die in front of us", fmt.Sprintf("%s > %d", epoch, before+1))
	b.front(epoch)
	b.at("#/timeline")
	b.until("each scope has a lane", "document.querySelectorAll('.lane-names a').length >= 3")
	b.until("the table says how long nobody led, and why", "[...document.querySelectorAll('tbody tr')].some((e) => e.innerText.includes('demo') && e.innerText.includes('its session ended without a farewell'))")
	b.until("two holders have bars", drawnColours("0x2f5fd0, 0x7d33c4, 0x08769a, 0xb52a83")+" >= 2")
	b.pictured("demo-timeline")
	b.at("#/events?scope=demo&event=acquired")
	b.until("failovers are told", "[...document.querySelectorAll('.virtual .row')].some((e) => e.innerText.replaceAll('\\u00a0', ' ').includes('by takeover after'))")
	b.at("#/transactions")
	b.until("it says who sends", "/^payer[^]*sent by\\s+node-\\d/.test(document.querySelector('.card')?.innerText ?? '')")
	b.pictured("demo-transactions")
	b.at("#/transactions?fate=succeeded")
	b.until("transactions end well", "[...document.querySelectorAll('.transactions .virtual .row .state')].some((e) => e.innerText === '✓ done')")
	b.at("#/crons")
	b.until("the cron runs each second", "document.querySelector('.cron')?.innerText.includes('tick') && document.querySelectorAll('.cron .run').length > 5")
	b.pictured("demo-crons")
	b.at("#/jobs")
	b.until("its jobs are done", "[...document.querySelectorAll('.virtual .row .state')].some((e) => e.innerText === '✓ done')")
	b.at("#/dead")
	b.says("No job is dead")
	b.at("#/nodes")
	b.until("nodes are there, with their version, and the one that is looked at does not campaign", "[...document.querySelectorAll('tbody tr')].some((e) => e.innerText.startsWith('node-') && e.innerText.includes('9.8.7')) && ![...document.querySelectorAll('tbody tr')].some((e) => e.innerText.startsWith('demo'))")
	b.until("each tells its version, and whether it serves", "(text => text.includes('serves nothing') && !text.includes('not told'))(document.querySelector('[aria-label=Processes]').innerText)") // of those that are there: one may have died before it told
	b.until("a doctor was here", "document.querySelectorAll('.findings li').length > 3")
	b.pictured("demo-nodes")
	if refused := js[[]string](b, "performance.getEntriesByType('resource').filter((e) => e.responseStatus >= 400).map((e) => e.responseStatus + ' ' + e.name)"); len(refused) > 0 {
		t.Errorf("the node refuses what its page asks for: %q", refused)
	}
	b.sound()
	demo.Signal(syscall.SIGINT)
	if code := demo.Wait(2 * patience); code != 0 {
		t.Errorf("exit code %d: the node that serves the page has disturbed what the demo proves", code)
	}
}
