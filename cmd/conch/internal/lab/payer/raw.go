//go:build unix

package payer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
)

const batch = 500

// Presigned hands many transactions, signed in advance, to the node, and waits until the last is mined.
func (p *Payer) Presigned(ctx context.Context, many int) (perSecond float64, err error) {
	first, err := p.node.Count(ctx, p.raw, "latest")
	if err != nil {
		return 0, err
	}
	var bodies []string
	for from := 0; from < many; from += batch {
		body, err := p.signed(ctx, first+uint64(from), min(batch, many-from))
		if err != nil {
			return 0, err
		}
		bodies = append(bodies, body)
	}
	began := time.Now()
	for _, body := range bodies {
		if err := p.post(ctx, body); err != nil {
			return 0, err
		}
	}
	if err := p.until(ctx, p.raw, "latest", first+uint64(many), Pace); err != nil {
		return 0, err
	}
	return float64(many) / time.Since(began).Seconds(), nil
}

// Raw signs many transactions and hands them to the node, one batch while the next is signed, and waits until the last
// is mined. It stores nothing, and follows nothing but a count.
func (p *Payer) Raw(ctx context.Context, many int) (perSecond float64, err error) {
	first, err := p.node.Count(ctx, p.raw, "latest")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	type request struct {
		body string
		err  error
	}
	requests := make(chan request, 1)
	go func() {
		defer close(requests)
		for from := 0; from < many; from += batch {
			body, err := p.signed(ctx, first+uint64(from), min(batch, many-from))
			requests <- request{body, err}
		}
	}()
	for r := range requests { // to the end, so that the signer never waits for ever
		if err = errors.Join(err, r.err); err == nil {
			err = p.post(ctx, r.body)
		}
	}
	if err != nil {
		return 0, err
	}
	if err := p.until(ctx, p.raw, "latest", first+uint64(many), Pace); err != nil {
		return 0, err
	}
	return float64(many) / time.Since(began).Seconds(), nil
}

// RawOne measures one request with one transaction signed in advance.
func (p *Payer) RawOne(ctx context.Context) (time.Duration, error) {
	first, err := p.node.Count(ctx, p.raw, "pending")
	if err != nil {
		return 0, err
	}
	body, err := p.signed(ctx, first, 1)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = p.post(ctx, body)
	return time.Since(began), err
}

// signed signs a batch, and returns the body of the request that sends it.
func (p *Payer) signed(ctx context.Context, first uint64, many int) (body string, err error) {
	drafts := make([]chain.Draft, many)
	for i := range drafts {
		drafts[i] = chain.Draft{Account: p.raw, Index: first + uint64(i), Call: call()}
	}
	prepared, err := p.driver.Prepare(ctx, drafts)
	if err != nil {
		return "", err
	}
	calls := make([]string, len(prepared))
	for i, one := range prepared {
		if one.Err != nil {
			return "", one.Err
		}
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x%s"]}`, i, hex.EncodeToString(one.Bytes))
	}
	return "[" + strings.Join(calls, ",") + "]", nil
}

func (p *Payer) post(ctx context.Context, body string) error {
	var answers []struct {
		Error *struct{ Message string }
	}
	if err := p.node.Post(ctx, []byte(body), &answers); err != nil {
		return err
	}
	for _, a := range answers {
		if a.Error != nil {
			return fmt.Errorf("the node refused a transaction: %s", a.Error.Message)
		}
	}
	return nil
}
