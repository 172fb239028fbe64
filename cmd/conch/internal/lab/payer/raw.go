//go:build unix

package payer

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
)

const batch = 500

// Raw signs many transactions, hands them to the node, and waits until the last is mined.
// Signing is not counted.
func (p *Payer) Raw(ctx context.Context, many int) (perSecond float64, err error) {
	first, err := p.node.count(ctx, p.raw, "latest")
	if err != nil {
		return 0, err
	}
	bodies, err := p.signed(ctx, first, many)
	if err != nil {
		return 0, err
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

// RawOne measures one request with one transaction signed in advance.
func (p *Payer) RawOne(ctx context.Context) (time.Duration, error) {
	first, err := p.node.count(ctx, p.raw, "pending")
	if err != nil {
		return 0, err
	}
	bodies, err := p.signed(ctx, first, 1)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = p.post(ctx, bodies[0])
	return time.Since(began), err
}

func (p *Payer) signed(ctx context.Context, first uint64, many int) (bodies []string, err error) {
	for from := 0; from < many; from += batch {
		drafts := make([]chain.Draft, min(batch, many-from))
		for i := range drafts {
			drafts[i] = chain.Draft{Account: p.raw, Index: first + uint64(from+i), Call: call()}
		}
		prepared, err := p.driver.Prepare(ctx, drafts)
		if err != nil {
			return nil, err
		}
		calls := make([]string, len(prepared))
		for i, one := range prepared {
			if one.Err != nil {
				return nil, one.Err
			}
			calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_sendRawTransaction","params":["0x%s"]}`, i, hex.EncodeToString(one.Bytes))
		}
		bodies = append(bodies, "["+strings.Join(calls, ",")+"]")
	}
	return bodies, nil
}

func (p *Payer) post(ctx context.Context, body string) error {
	var answers []struct {
		Error *struct{ Message string }
	}
	if err := p.node.post(ctx, body, &answers); err != nil {
		return err
	}
	for _, a := range answers {
		if a.Error != nil {
			return fmt.Errorf("the node refused a transaction: %s", a.Error.Message)
		}
	}
	return nil
}
