// Package browser drives a Chromium for experiments with the page of a node.
package browser

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// EnvProgram names the browser.
const EnvProgram = "CONCH_CHROMIUM"

// Find returns the path of a browser; empty if there is none.
func Find() string {
	if named, given := os.LookupEnv(EnvProgram); given {
		return named
	}
	path, _ := exec.LookPath("chromium")
	return path
}

// Browser is a running one, without a window.
type Browser struct {
	ctx context.Context
	end []context.CancelFunc
}

// Start starts the program. It ends with the context too.
func Start(ctx context.Context, program string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	all, end := chromedp.NewExecAllocator(ctx, options...)
	root, cancel := chromedp.NewContext(all)
	b := &Browser{ctx: root, end: []context.CancelFunc{cancel, end}}
	if err := chromedp.Do(root); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the browser and waits for that.
func (b *Browser) Close() {
	_ = chromedp.Cancel(b.ctx) // it may have ended
	for _, end := range b.end {
		end()
	}
}

// Tab is a page of the browser.
type Tab struct {
	ctx context.Context
	end context.CancelFunc
}

// Open opens a tab of 1440 by 900 in which a script runs before those of any page.
func (b *Browser) Open(first string) (*Tab, error) {
	ctx, cancel := chromedp.NewContext(b.ctx)
	t := &Tab{ctx, cancel}
	err := chromedp.Do(ctx)
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900))
	}
	if err == nil {
		err = call(t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: first})
	}
	if err == nil {
		err = call(t, performance.Enable, performance.EnableParams{})
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return t, nil
}

// Close closes the tab.
func (t *Tab) Close() { t.end() }

// Go goes to a URL and waits until the page is loaded.
func (t *Tab) Go(ctx context.Context, url string) error {
	ctx, cancel := t.within(ctx)
	defer cancel()
	return chromedp.Do(ctx, chromedp.Navigate(url))
}

// Slow gives the tab a line of so many bytes a second and that latency, and a part of the processor.
func (t *Tab) Slow(perSecond float64, latency time.Duration, part float64) error {
	err := call(t, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
		{Latency: float64(latency.Milliseconds()), DownloadThroughput: perSecond, UploadThroughput: perSecond},
	}})
	if err == nil {
		err = call(t, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 1 / part})
	}
	return err
}

// Busy returns how long the main thread has worked.
func (t *Tab) Busy() (time.Duration, error) {
	got, err := chromedp.Call(t.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second)), nil
		}
	}
	return 0, nil
}

// Ask evaluates an expression in the page; a promise is waited for.
func Ask[T any](ctx context.Context, t *Tab, expression string) (T, error) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// within is the tab's context, which ends with another one too.
func (t *Tab) within(other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

func call[P, R any](t *Tab, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(t.ctx, command, params)
	return err
}
