package transactions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// wishFlags are the flags of send for how a call is made and sent.
type wishFlags struct {
	args, until string
	file        string // of a batch
}

func (f *wishFlags) add(cmd *cobra.Command, request *requestBody) {
	flags := cmd.Flags()
	flags.StringVar(&request.Function, "function", "", "`signature` of the function to call, such as 'transfer(address,uint256)'; its arguments follow, or --args")
	flags.StringVar(&f.args, "args", "", "arguments of --function as a JSON `array`")
	flags.StringVar(&request.Speed, "speed", "", "`speed`: slow, normal or fast (default normal)")
	flags.StringVar(&request.MaxFee, "max-fee", "", "the most for a unit of gas: an `amount` such as '30 gwei', or wei")
	flags.StringVar(&f.until, "valid-until", "", "a `time` such as 2026-01-31T12:00:00Z, or how long from now, such as 10m: it is not carried out later")
	flags.Uint64Var(&request.LastBlock, "last-block", 0, "the last `block` that may have it")
	flags.StringVar(&f.file, "file", "", "send all transactions of a JSON `file`, or none; - is standard input")
}

// complete sets what the flags and the arguments say.
func (f *wishFlags) complete(request *requestBody, words []string, now time.Time) error {
	switch {
	case f.file != "" && (len(words) > 0 || request.Function != "" || f.args != "" || f.until != "" || request.To != "" || request.Data != "" || request.Speed != "" || request.MaxFee != "" || request.LastBlock != 0):
		return cli.Usagef("--file has all of its transactions: of the other flags only --account and --key go with it")
	case request.Function == "" && (len(words) > 0 || f.args != ""):
		return cli.Usagef("arguments need --function, the function that takes them")
	case len(words) > 0 && f.args != "":
		return cli.Usagef("write the arguments after the flags, or in --args, not both")
	case f.args != "" && json.Unmarshal([]byte(f.args), &request.Args) != nil:
		return cli.Usagef("--args is no JSON array, such as '[\"0x…\", \"1000\"]'")
	}
	for _, word := range words {
		request.Args = append(request.Args, argument(word))
	}
	if err := feeFlag(&request.MaxFee); err != nil {
		return err
	}
	if in, err := time.ParseDuration(f.until); err == nil {
		f.until = now.Add(in).UTC().Format(time.RFC3339)
	}
	request.ValidUntil = f.until
	return nil
}

// argument returns a word as a JSON value: an array or object as it is, and else a text, which stands for a number too.
func argument(word string) json.RawMessage {
	if raw := json.RawMessage(word); strings.HasPrefix(word, "[") || strings.HasPrefix(word, "{") {
		if json.Valid(raw) {
			return raw
		}
	}
	raw := new(bytes.Buffer)
	enc := json.NewEncoder(raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(word); err != nil {
		panic(err) //nolint:forbidigo // cannot happen: a text
	}
	return bytes.TrimSpace(raw.Bytes())
}

// feeFlag turns 30 gwei into wei.
func feeFlag(text *string) error {
	number, unit, _ := strings.Cut(strings.TrimSpace(*text), " ")
	if unit = strings.TrimSpace(unit); unit == "" && !strings.HasSuffix(number, "wei") {
		return nil
	}
	n, ok := new(big.Int).SetString(number, 10)
	factor := map[string]int64{"wei": 1, "gwei": 1e9}[unit]
	if !ok || factor == 0 {
		return cli.Usagef("--max-fee %q is no amount: write '30 gwei', or a whole number of wei", *text)
	}
	*text = n.Mul(n, big.NewInt(factor)).String()
	return nil
}

// readBatch reads transactions from a file: a JSON array of what POST /v1/transactions takes, or an object with it. Those without an
// account get the one that is given, and those without a key a key made of the given one and their place.
func (a *shell) readBatch(file, account, key string) (out batchBody, err error) {
	from := a.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return out, err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxBatch+1))
	if err != nil {
		return out, err
	}
	var list []map[string]json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		var whole struct {
			Transactions []map[string]json.RawMessage `json:"transactions"`
		}
		err = json.Unmarshal(raw, &whole)
		list = whole.Transactions
	} else {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return out, fmt.Errorf("%s is no JSON array of transactions: %w", file, err)
	}
	for i, one := range list {
		if one == nil {
			return out, fmt.Errorf("%s: number %d is null, and not a transaction", file, i+1)
		}
		if _, has := one["account"]; !has && account != "" {
			one["account"] = argument(account)
		}
		if _, has := one["idempotency_key"]; !has && key != "" {
			one["idempotency_key"] = argument(fmt.Sprintf("%s/%d", key, i))
		}
		text, err := json.Marshal(one)
		if err != nil {
			return out, err
		}
		out.Transactions = append(out.Transactions, text)
	}
	return out, nil
}

// sendBatch sends the transactions of a file, all or none.
func (a *shell) sendBatch(ctx context.Context, c *cli.Client, file, account, key string) error {
	body, err := a.readBatch(file, account, key)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	var answer batchAnswer
	err = c.Ask(ctx, http.MethodPost, pathBatch, body, &raw)
	switch {
	case cli.Unanswered(err):
		return fmt.Errorf("%w; all of the batch may have been accepted, or nothing: repeat the command with the same file and --key to find out and send it once", err)
	case err != nil:
		return err
	case json.Unmarshal(raw, &answer) != nil || len(answer.Transactions) != len(body.Transactions):
		return c.Stranger()
	case a.JSON:
		return a.Document(raw)
	}
	var fault error
	for _, one := range answer.Transactions {
		fault = errors.Join(fault, a.Line("%s", one.ID))
	}
	return fault
}
