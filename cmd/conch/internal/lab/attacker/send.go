package attacker

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// patience is for one question to a local node.
const patience = 10 * time.Second

// What the attacker pays for a unit of gas, in wei: more than any node does.
const (
	tip    = 20_000_000_000
	mostly = 50_000_000_000
)

// sign returns the next transaction of the account (EIP-1559), with as much gas as another one has.
func (w *wallet) sign(chain uint64, to, data []byte, gas string) ([]byte, error) {
	limit, err := strconv.ParseUint(gas, 0, 64)
	if err != nil {
		return nil, err
	}
	fields := slices.Concat(integer(chain), integer(w.nonce), integer(w.tip), integer(mostly), integer(limit), text8(to), integer(0), text8(data), list(nil))
	s, err := w.key.SignHash([32]byte(keccak([]byte{2}, list(fields))))
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte{2}, list(slices.Concat(fields, integer(uint64(s[64])), big(s[:32]), big(s[32:64])))), nil
}

// What follows writes values in the form of transactions (RLP).

func integer(n uint64) []byte { return big(binary.BigEndian.AppendUint64(nil, n)) }

func big(b []byte) []byte { return text8(bytes.TrimLeft(b, "\x00")) }

func text8(b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return b
	}
	return prefixed(0x80, b)
}

func list(b []byte) []byte { return prefixed(0xc0, b) }

func prefixed(kind byte, b []byte) []byte {
	if len(b) < 56 {
		return append([]byte{kind + byte(len(b))}, b...)
	}
	size := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, uint64(len(b))), "\x00")
	return slices.Concat([]byte{kind + 55 + byte(len(size))}, size, b)
}

type client struct {
	url  string
	http *http.Client
}

// ask calls a method and decodes its result.
func (c *client) ask(ctx context.Context, out any, method string, args ...any) error {
	return rpc.Call(ctx, c.http, c.url, out, method, args...)
}

// count returns the next nonce of an account, with what is in the pool.
func (c *client) count(ctx context.Context, account string) (uint64, error) {
	var text string
	if err := c.ask(ctx, &text, "eth_getTransactionCount", account, "pending"); err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 0, 64)
}
