package transactions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

const (
	pathBatch   = pathTransactions + ":batch"
	mostBatch   = 500     // transactions of a batch
	maxBatch    = 4 << 20 // bytes of its body
	mostBatches = 4       // that are taken at a time
	fieldBatch  = "transactions"
)

// batchBody is the body of POST /v1/transactions:batch. Each element is the body of one request.
type batchBody struct {
	Transactions []json.RawMessage `json:"transactions"`
}

// batchAnswer has what was accepted, in the order of the request.
type batchAnswer struct {
	Transactions []batchEntry `json:"transactions"`
}

type batchEntry struct {
	ID  string `json:"id"`
	Key string `json:"idempotency_key"`
}

func (a *api) postBatch(w http.ResponseWriter, r *http.Request) error {
	leave, err := place(a.batches)
	if err != nil {
		return err
	}
	defer leave()
	var body batchBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	account, ins, err := body.parse()
	if err != nil {
		return notAccepted(err)
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	stored, err := a.transactions.acceptAll(ctx, web.Token(ctx), account, ins)
	if err != nil {
		return notAccepted(err)
	}
	out := batchAnswer{Transactions: make([]batchEntry, len(stored))}
	for i, in := range stored {
		out.Transactions[i] = batchEntry{idText(in.ID), in.Key}
	}
	a.log.InfoContext(r.Context(), "batch accepted", slog.Int("transactions", len(stored)), slog.String("first", out.Transactions[0].ID),
		slog.String("account", account), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusAccepted, out)
}

// parse returns the name of the account, and the intents, each with a key of its own.
func (b batchBody) parse() (account string, ins []pending.Intent, err error) {
	if n := len(b.Transactions); n == 0 || n > mostBatch {
		return "", nil, &web.FieldError{Field: fieldBatch, Text: fmt.Sprintf("has %d elements, and a batch has 1 to %d: send more in parts, each with the same keys when you repeat it", n, mostBatch)}
	}
	places := map[string]int{}
	for i, raw := range b.Transactions {
		var one requestBody
		if err := web.DecodeJSON(raw, &one); err != nil {
			return "", nil, placed(i, err)
		}
		in, err := one.parse()
		before, twice := places[one.Key]
		switch {
		case err != nil:
			return "", nil, placed(i, err)
		case one.Key == "":
			return "", nil, placed(i, &web.FieldError{Field: "idempotency_key", Text: "is missing: without it the batch, sent again after a lost answer, would be done twice"})
		case twice:
			return "", nil, placed(i, &web.FieldError{Field: "idempotency_key", Text: fmt.Sprintf("is that of %s[%d] too", fieldBatch, before)})
		case i > 0 && one.Account != account:
			return "", nil, placed(i, &web.FieldError{Field: "account", Text: fmt.Sprintf("is %.100q, and that of %s[0] is %.100q: a batch is of one account, written the same way", one.Account, fieldBatch, account)})
		}
		account, places[one.Key] = one.Account, i
		ins = append(ins, in)
	}
	return account, ins, nil
}

// placed returns the answer to a batch, given why one of its elements is refused.
func placed(i int, err error) error {
	p, is := errors.AsType[*web.Problem](notAccepted(err))
	if !is {
		return err
	}
	at := fmt.Sprintf("%s[%d]", fieldBatch, i)
	out := *p
	if out.Detail = at + ": " + p.Detail; p.Field != "" {
		at += "." + p.Field
	}
	return out.About(at)
}

// acceptAll stores all of a batch, or none.
func (ts *transactions) acceptAll(ctx context.Context, token, account string, ins []pending.Intent) ([]pending.Intent, error) {
	var a Account
	var store store
	var err error
	for i := range ins {
		if a, store, err = ts.checked(ctx, token, account, &ins[i]); err != nil {
			return nil, placed(i, err)
		}
	}
	kept, err := ts.policies.acceptAll(ctx, token, a, store, ins)
	if err != nil {
		return nil, stored(err)
	}
	for i, in := range kept {
		if in.Token != ins[i].Token {
			if err := ts.ofAnother(ctx, token, a.Chain.ID(), store); err != nil {
				return nil, placed(i, stored(err))
			}
		}
	}
	ts.managers.wake(a.Chain.ID(), a.Address)
	return kept, nil
}

// bulk is a store that accepts several intents within the limits of a policy, or none.
type bulk interface {
	AcceptAll(ctx context.Context, all []pending.Intent, takes []pgstore.Reservation) ([]pending.Intent, error)
}

// acceptAll is as accept for all of some intents, or none. What they need of a limit is taken together.
func (p *policies) acceptAll(ctx context.Context, token string, a Account, kept intake, ins []pending.Intent) ([]pending.Intent, error) {
	token = storedName(token)
	within, has := kept.(bulk)
	if whole, is := kept.(interface {
		AcceptAll(ctx context.Context, all []pending.Intent) ([]pending.Intent, error)
	}); is && (token == "" || a.Unlimited) {
		return whole.AcceptAll(ctx, ins)
	}
	if !has {
		return nil, noPolicy(token, a)
	}
	for try := range mostChanges {
		takes, no, err := p.judgeAll(ctx, token, a, ins, try > 0)
		if err != nil {
			return nil, err
		}
		if len(no) > 0 && try == 0 {
			continue // by a policy that was just read
		}
		out, err := within.AcceptAll(ctx, ins, takes)
		refused, is := errors.AsType[*pending.PlaceError](err)
		if !is {
			return out, err
		}
		over, isLimit := errors.AsType[*pgstore.LimitError](err)
		switch {
		case isLimit:
			return nil, placed(refused.Place, exceeded(token, a, over))
		case errors.Is(err, pgstore.ErrPolicyChanged) && no[refused.Place] != nil:
			return nil, placed(refused.Place, no[refused.Place])
		case errors.Is(err, pgstore.ErrPolicyChanged):
			continue
		}
		return nil, placed(refused.Place, stored(err))
	}
	return nil, pending.ErrBusy
}

// judgeAll says what each of some intents takes, and by their places why some are refused, unless their keys are known.
func (p *policies) judgeAll(ctx context.Context, token string, a Account, ins []pending.Intent, fresh bool) (takes []pgstore.Reservation, no map[int]error, err error) {
	takes = make([]pgstore.Reservation, len(ins))
	if token == "" {
		return takes, nil, nil
	}
	k, err := p.of(ctx, token, a.Chain.ID(), fresh)
	if err != nil {
		return nil, nil, err
	}
	no = map[int]error{}
	for i, in := range ins {
		take, refused := k.judge(token, a, in)
		if refused != nil {
			no[i], take.Version = refused, 0
		}
		takes[i] = take
	}
	return takes, no, nil
}

// overdue refuses an intent whose deadline is over by this node's clock. A known key answers as ever: the store finds it again.
func overdue(ctx context.Context, from reader, in pending.Intent) error {
	if in.ValidUntil.IsZero() || time.Now().Before(in.ValidUntil) {
		return nil
	}
	if in.Key != "" {
		known, err := from.List(ctx, pending.Filter{Account: in.Account, Key: in.Key, Most: 1})
		if err != nil || len(known) > 0 {
			return err
		}
	}
	return &web.FieldError{Field: "valid_until", Text: fmt.Sprintf("is over: by this node's clock it is %s", time.Now().UTC().Format(time.RFC3339))}
}
