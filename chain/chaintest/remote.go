package chaintest

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/conchhq/conch/chain"
)

// Remote is a line that another process serves. It is a chain.Chain, and safe for concurrent use.
type Remote struct {
	url    string
	client *http.Client
}

var _ chain.Chain = (*Remote)(nil)

// Dial returns the line that is served at a URL, which ends without a slash. It asks nothing yet.
func Dial(url string) *Remote {
	return &Remote{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
}

// Close closes its connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// post begins a call.
func (r *Remote) post(ctx context.Context, call string, q any) (io.ReadCloser, error) {
	var body bytes.Buffer
	err := gob.NewEncoder(&body).Encode(q)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/"+call, &body)
	if err != nil {
		return nil, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", chain.ErrUnreachable, call, err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%w: %s: %s", chain.ErrUnreachable, call, response.Status)
	}
	return response.Body, nil
}

// ask calls a method.
func ask[A any](ctx context.Context, r *Remote, call string, q any) (A, error) {
	var a answer[A]
	body, err := r.post(ctx, call, q)
	if err != nil {
		return a.Value, err
	}
	defer func() { _ = body.Close() }()
	if err := gob.NewDecoder(body).Decode(&a); err != nil {
		return a.Value, fmt.Errorf("%w: %s: %w", chain.ErrUnreachable, call, err)
	}
	return a.Value, a.Fault.comes()
}

// Describe implements chain.Chain.
func (r *Remote) Describe(ctx context.Context) (chain.Description, error) {
	return ask[chain.Description](ctx, r, "Describe", true)
}

// Next implements chain.Chain.
func (r *Remote) Next(ctx context.Context, a chain.Account) (uint64, error) {
	return ask[uint64](ctx, r, "Next", a)
}

// Counts implements chain.Chain.
func (r *Remote) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	return ask[[]uint64](ctx, r, "Counts", accounts)
}

// Pooled implements chain.Chain.
func (r *Remote) Pooled(ctx context.Context, a chain.Account) (uint64, error) {
	return ask[uint64](ctx, r, "Pooled", a)
}

// Prepare implements chain.Chain.
func (r *Remote) Prepare(ctx context.Context, drafts []chain.Draft) (all []chain.Prepared, err error) {
	got, err := ask[[]preparedWire](ctx, r, "Prepare", drafts)
	for _, one := range got {
		all = append(all, chain.Prepared{Signed: one.Signed, Err: one.Fault.comes()})
	}
	return all, err
}

// Submit implements chain.Chain.
func (r *Remote) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	said, err := ask[[]chain.Outcome](ctx, r, "Submit", attempts)
	if err != nil {
		said = make([]chain.Outcome, len(attempts))
		for i := range said {
			said[i].Text = err.Error()
		}
	}
	return said
}

// Probe implements chain.Chain.
func (r *Remote) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	return ask[[]chain.Sighting](ctx, r, "Probe", hashes)
}

// Scan implements chain.Chain.
func (r *Remote) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) ([]chain.Inclusion, uint64, error) {
	got, err := ask[scannedWire](ctx, r, "Scan", scanWire{of, a, from, most})
	return got.Found, got.Next, err
}

// Prove implements chain.Chain.
func (r *Remote) Prove(ctx context.Context, in chain.Inclusion) (chain.Draft, error) {
	return ask[chain.Draft](ctx, r, "Prove", in)
}

// Version implements chain.Chain.
func (r *Remote) Version(ctx context.Context, of chain.Block) (string, error) {
	return ask[string](ctx, r, "Version", of)
}

// Block implements chain.Chain.
func (r *Remote) Block(ctx context.Context, h chain.Hash) (chain.Block, error) {
	return ask[chain.Block](ctx, r, "Block", h)
}

// Linked implements chain.Chain.
func (r *Remote) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	return ask[[]bool](ctx, r, "Linked", blocksWire{of, blocks})
}

// Confirm implements chain.Chain.
func (r *Remote) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	return ask[[]chain.Opinion](ctx, r, "Confirm", claims)
}

// Heads implements chain.Chain.
func (r *Remote) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		body, err := r.post(ctx, "Heads", from)
		if err != nil {
			yield(chain.Turn{}, errors.Join(ctx.Err(), err))
			return
		}
		defer func() { _ = body.Close() }()
		for in := gob.NewDecoder(body); ; {
			var a answer[chain.Turn]
			if err := in.Decode(&a); err != nil {
				yield(chain.Turn{}, errors.Join(ctx.Err(), fmt.Errorf("%w: Heads: %w", chain.ErrUnreachable, err)))
				return
			}
			if !yield(a.Value, a.Fault.comes()) || a.Fault != nil {
				return
			}
		}
	}
}

// Inclusions implements chain.Chain.
func (r *Remote) Inclusions(ctx context.Context, at chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	return ask[[]chain.Inclusion](ctx, r, "Inclusions", blockWire{at, accounts})
}

// Replay implements chain.Chain.
func (r *Remote) Replay(ctx context.Context, from chain.Account, call chain.Call, height uint64) (string, error) {
	return ask[string](ctx, r, "Replay", callWire{From: from, Call: call, Height: height})
}

// Receipt implements chain.Chain.
func (r *Remote) Receipt(ctx context.Context, in chain.Inclusion) (chain.Receipt, error) {
	return ask[chain.Receipt](ctx, r, "Receipt", in)
}

// AccountStates implements chain.Chain.
func (r *Remote) AccountStates(ctx context.Context, accounts []chain.Account) ([]chain.AccountState, error) {
	return ask[[]chain.AccountState](ctx, r, "AccountStates", accounts)
}

// Quote implements chain.Chain.
func (r *Remote) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (chain.Quote, error) {
	got, err := ask[quoteWire](ctx, r, "Quote", callWire{From: from, Call: call, Speed: speed})
	got.Quote.Fault = got.Fault.comes()
	return got.Quote, err
}
