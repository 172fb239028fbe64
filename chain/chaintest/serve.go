package chaintest

import (
	"context"
	"encoding/gob"
	"errors"
	"net/http"

	"github.com/conchhq/conch/chain"
)

// A line is served to other processes: a call is a POST to its name, and what goes in and comes out is as package gob writes it.

// Serve serves a line to another process, which reaches it by [Dial]. Whatever happens to the line happens to that process too.
func Serve(l *Line) http.Handler {
	mux := http.NewServeMux()
	offer(mux, "Describe", func(ctx context.Context, _ bool) (chain.Description, error) { return l.Describe(ctx) })
	offer(mux, "Next", l.Next)
	offer(mux, "Counts", l.Counts)
	offer(mux, "Pooled", l.Pooled)
	offer(mux, "Prepare", func(ctx context.Context, drafts []chain.Draft) (sent []preparedWire, err error) {
		all, err := l.Prepare(ctx, drafts)
		for _, one := range all {
			sent = append(sent, preparedWire{one.Signed, faultOf(one.Err)})
		}
		return sent, err
	})
	offer(mux, "Submit", func(ctx context.Context, attempts []chain.Signed) ([]chain.Outcome, error) {
		return l.Submit(ctx, attempts), nil
	})
	offer(mux, "Probe", l.Probe)
	offer(mux, "Scan", func(ctx context.Context, q scanWire) (a scannedWire, err error) {
		a.Found, a.Next, err = l.Scan(ctx, q.Of, q.Account, q.From, q.Most)
		return a, err
	})
	offer(mux, "Prove", l.Prove)
	offer(mux, "Version", l.Version)
	offer(mux, "Block", l.Block)
	offer(mux, "Linked", func(ctx context.Context, q blocksWire) ([]bool, error) { return l.Linked(ctx, q.Of, q.Blocks) })
	offer(mux, "Confirm", l.Confirm)
	offer(mux, "Inclusions", func(ctx context.Context, q blockWire) ([]chain.Inclusion, error) {
		return l.Inclusions(ctx, q.Of, q.Accounts)
	})
	offer(mux, "Replay", func(ctx context.Context, q callWire) (string, error) { return l.Replay(ctx, q.From, q.Call, q.Height) })
	offer(mux, "Receipt", l.Receipt)
	offer(mux, "AccountStates", l.AccountStates)
	offer(mux, "Quote", func(ctx context.Context, q callWire) (a quoteWire, err error) {
		a.Quote, err = l.Quote(ctx, q.From, q.Call, q.Speed)
		a.Fault, a.Quote.Fault = faultOf(a.Quote.Fault), nil
		return a, err
	})
	mux.HandleFunc("POST /Heads", func(w http.ResponseWriter, r *http.Request) {
		var from chain.Block
		if !asked(w, r, &from) {
			return
		}
		to := gob.NewEncoder(w)
		for turn, err := range l.Heads(r.Context(), from) {
			if to.Encode(answer[chain.Turn]{turn, faultOf(err)}) != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	})
	return mux
}

// offer serves a method.
func offer[Q, A any](mux *http.ServeMux, call string, method func(context.Context, Q) (A, error)) {
	mux.HandleFunc("POST /"+call, func(w http.ResponseWriter, r *http.Request) {
		var q Q
		if !asked(w, r, &q) {
			return
		}
		a, err := method(r.Context(), q)
		_ = gob.NewEncoder(w).Encode(answer[A]{a, faultOf(err)})
	})
}

// asked reads what is asked, and reports whether it could.
func asked(w http.ResponseWriter, r *http.Request, q any) bool {
	err := gob.NewDecoder(r.Body).Decode(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

type (
	answer[A any] struct {
		Value A
		Fault *wireError
	}
	preparedWire struct {
		Signed chain.Signed
		Fault  *wireError
	}
	scanWire struct {
		Of      chain.Block
		Account chain.Account
		From    uint64
		Most    int
	}
	scannedWire struct {
		Found []chain.Inclusion
		Next  uint64
	}
	blockWire struct {
		Of       chain.Block
		Accounts []chain.Account
	}
	blocksWire struct {
		Of     chain.Block
		Blocks []chain.Block
	}
	callWire struct {
		From   chain.Account
		Call   chain.Call
		Height uint64
		Speed  chain.Speed
	}
	quoteWire struct {
		Quote chain.Quote
		Fault *wireError
	}
)

// sentinels are the errors that a line returns.
var sentinels = []error{
	chain.ErrUnreachable, chain.ErrAnswer, chain.ErrForeign, chain.ErrNotFound, chain.ErrDisagree, chain.ErrUnproven, chain.ErrFinality, chain.ErrUnsupported,
	chain.ErrThread, chain.ErrKey, chain.ErrCall, chain.ErrUnclear, chain.ErrFunds, chain.ErrOwed, chain.ErrEnough, chain.ErrFee, context.Canceled, context.DeadlineExceeded,
}

// wireError is an error: its text, and which of the sentinels it wraps.
type wireError struct {
	Text string
	Of   []int
}

// faultOf returns an error as it goes out, nil for nil.
func faultOf(err error) *wireError {
	if err == nil {
		return nil
	}
	f := &wireError{Text: err.Error()}
	for i, one := range sentinels {
		if errors.Is(err, one) {
			f.Of = append(f.Of, i)
		}
	}
	return f
}

func (f *wireError) Error() string { return f.Text }

// Unwrap returns the sentinels.
func (f *wireError) Unwrap() (all []error) {
	for _, i := range f.Of {
		all = append(all, sentinels[i])
	}
	return all
}

// comes returns the error that came in.
func (f *wireError) comes() error {
	if f == nil {
		return nil
	}
	return f
}
