package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

// Reply is what an endpoint says of an extrinsic that was sent to it. No reply ends anything: what a node's pool refuses may be in a block
// already, or get into one by another node (Z17).
type Reply struct {
	Verdict chain.Verdict
	// Asks is what the verdict depends on beside the node's words; see Settle. Until then the Verdict is Unknown.
	Asks Question
	Text string // for people
}

// Question is about the extrinsic itself, and needs the metadata of the head.
type Question uint8

const (
	// AsksNothing means that the verdict stands.
	AsksNothing Question = iota
	// AsksProof means that the node says "bad proof", or that the birth is too old. That has seven causes.
	AsksProof
	// AsksForm means that the node cannot decode it.
	AsksForm
	// AsksRun means that the runtime at the node's head cannot look at it, as it cannot at a call that it does not have any more.
	AsksRun
	// AsksCount means that the node has banned it. It does so with all that it has seen in a block: is the nonce used?
	AsksCount
)

// Fit is what the bytes of an extrinsic are at the head, as is found out here.
type Fit uint8

const (
	// Fits means that the signature fits the head's version, the genesis, and the birth as the head's branch has it.
	Fits Fit = iota
	// Worn means that it does not: it is for another version, or branch, or chain, or its time is over.
	Worn
	// Nonsense means that the bytes cannot be decoded, and are for no other version that is known.
	Nonsense
	// Used means that the chain counts the nonce as used.
	Used
)

// Settle answers the reply's question.
func (r Reply) Settle(fit Fit) Reply {
	switch r.Asks {
	case AsksProof, AsksForm, AsksRun:
		r.Verdict = settled[r.Asks][fit]
	case AsksCount:
		if r.Verdict = chain.Outworn; fit == Used {
			r.Verdict = chain.IndexTooLow
		}
	case AsksNothing:
	}
	r.Asks = AsksNothing
	return r
}

// settled says what becomes of what does not run or does not decode at a node. One that fits here is refused by a node that is behind,
// or ahead, or of another chain.
var settled = map[Question]map[Fit]chain.Verdict{
	AsksProof: {Fits: chain.Refused, Worn: chain.Outworn, Nonsense: chain.Outworn},
	AsksForm:  {Fits: chain.Refused, Worn: chain.Outworn, Nonsense: chain.Invalid},
	AsksRun:   {Fits: chain.Unfit, Worn: chain.Outworn, Nonsense: chain.Unfit},
}

// Codes of what a node's pool refuses.
const (
	codeFormat   = 1001
	codeVerify   = 1002
	codeInvalid  = 1010
	codeUnsure   = 1011
	codeBanned   = 1012
	codeImported = 1013
	codePriority = 1014
	codeCycle    = 1015
	codeDropped  = 1016
	codeNoTags   = 1017
	codeInert    = 1018
	codeFuture   = 1020
)

// Judge says what a node's error for an extrinsic means.
func Judge(said *rpc.Error) (chain.Verdict, Question) {
	switch said.Code {
	case codeImported:
		return chain.Known, AsksNothing
	case codeBanned:
		return chain.Unknown, AsksCount // for thirty minutes, these bytes, here
	case codePriority:
		return chain.Underpriced, AsksNothing
	case codeDropped, codeFuture:
		return chain.Full, AsksNothing
	case codeFormat:
		return chain.Unknown, AsksForm
	case codeInvalid:
		return judgeInvalid(strings.ToLower(said.Message + " " + string(said.Data)))
	case codeVerify:
		return chain.Unknown, AsksRun
	case codeUnsure, codeCycle, codeNoTags, codeInert:
		return chain.Unfit, AsksNothing
	case rpc.CodeLimit, rpc.CodeRateLimit, rpc.CodeMethod, rpc.CodeParams, codeRequest, codeParse:
		return chain.Refused, AsksNothing // the node has not carried out anything
	}
	return chain.Unknown, AsksNothing
}

// Codes of what is no request at all.
const (
	codeRequest = -32600
	codeParse   = -32700
)

// validities are the causes that a runtime names, in the words of nodes and as tools write the same data.
var validities = []struct {
	words   []string
	verdict chain.Verdict
	asks    Question
}{
	{[]string{"outdated", "stale"}, chain.IndexTooLow, AsksNothing},
	{[]string{"inability to pay", "payment"}, chain.NoFunds, AsksNothing},
	{[]string{"bad signature", "badproof", "ancient birth", "ancientbirthblock"}, chain.Unknown, AsksProof},
	{[]string{"exhaust"}, chain.Unfit, AsksNothing},
	{[]string{"future"}, chain.Full, AsksNothing}, // nodes take it; a tool without a queue does not
}

// judgeInvalid reads why the runtime at a node's head calls an extrinsic invalid. Whatever it does not know is Unfit and never Invalid: at
// another head it may be another.
func judgeInvalid(text string) (chain.Verdict, Question) {
	for _, one := range validities {
		for _, word := range one.words {
			if strings.Contains(text, word) {
				return one.verdict, one.asks
			}
		}
	}
	return chain.Unfit, AsksNothing
}

const submitMethod = "author_submitExtrinsic"

// Submit sends extrinsics in their order, without waiting for one before the next, and returns a reply to each.
func (v *View) Submit(ctx context.Context, extrinsics [][]byte) []Reply {
	hashes := make([]Bytes, len(extrinsics))
	calls := make([]rpc.Request, len(extrinsics))
	for i, one := range extrinsics {
		calls[i] = rpc.Request{Method: submitMethod, Args: []any{Bytes(one)}, Result: &hashes[i]}
	}
	_ = v.client.Calls(ctx, calls) // the errors are in the calls
	replies := make([]Reply, len(extrinsics))
	for i, call := range calls {
		replies[i] = v.reply(call.Err, chain.Hash(hashes[i]), extrinsics[i])
	}
	return replies
}

func (v *View) reply(err error, hash chain.Hash, extrinsic []byte) Reply {
	said, spoken := rpc.Answered(err)
	switch {
	case err == nil && hash == HashOf(extrinsic):
		return Reply{Verdict: chain.Accepted}
	case err == nil:
		return Reply{Text: fmt.Sprintf("%s calls it %v, which is not its hash", v, hash)}
	case errors.Is(err, chain.ErrForeign), errors.Is(err, chain.ErrUnsupported), spoken && said.Method != submitMethod:
		return Reply{Verdict: chain.Refused, Text: err.Error()} // it was not sent: the connection did not pass
	case !spoken:
		return Reply{Text: err.Error()}
	}
	r := Reply{Text: said.Message}
	if said.Detail != "" {
		r.Text += ": " + said.Detail
	}
	r.Verdict, r.Asks = Judge(said)
	return r
}
