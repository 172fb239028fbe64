package explorer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

type client struct {
	url  string
	http *http.Client
}

// ask calls a method and decodes its result, which must not be null.
func (c *client) ask(ctx context.Context, out any, method string, args ...any) error {
	var result json.RawMessage
	err := rpc.Call(ctx, c.http, c.url, &result, method, args...)
	switch {
	case err != nil:
	case len(result) == 0 || string(result) == "null":
		err = errors.New("the answer has no result")
	default:
		err = json.Unmarshal(result, out)
	}
	if err != nil {
		return fmt.Errorf("asking the chain for %s%v: %w", method, args, err)
	}
	return nil
}

func (c *client) number(ctx context.Context, method string, args ...any) (uint64, error) {
	var said string
	if err := c.ask(ctx, &said, method, args...); err != nil {
		return 0, err
	}
	return number(said)
}

func hexNumber(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func number(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("the chain says %q where a number belongs", text)
	}
	return n, nil
}
